// How a lane counts the slots that it has done, by opcode. The first COUNTS opcodes,
// COUNTED_0 to COUNTED_7, are counted in registers; a kernel with more has COUNTED_REST
// and counts those above LAST_COUNTED in memory that the workgroup shares. COUNTED_i
// without an opcode is a number that no slot has.

const uint COUNTED[8] = uint[](COUNTED_0, COUNTED_1, COUNTED_2, COUNTED_3, COUNTED_4, COUNTED_5, COUNTED_6, COUNTED_7);

#ifdef COUNTED_REST
shared uint rest_executed[OPCODE_BINS];
#endif
#if COUNTS > 0
uvec4 executed_0 = uvec4(0u);
#endif
#if COUNTS > 4
uvec4 executed_4 = uvec4(0u);
#endif

void count_done(uint opcode) {
#if COUNTS > 0
    executed_0 += uvec4(equal(uvec4(opcode), uvec4(COUNTED_0, COUNTED_1, COUNTED_2, COUNTED_3)));
#endif
#if COUNTS > 4
    executed_4 += uvec4(equal(uvec4(opcode), uvec4(COUNTED_4, COUNTED_5, COUNTED_6, COUNTED_7)));
#endif
#ifdef COUNTED_REST
    if (opcode > LAST_COUNTED && opcode < OPCODE_BINS) {
        atomicAdd(rest_executed[opcode], 1u);
    }
#endif
}

// counted_done is how many slots of counted opcodes the lane has done.
uint counted_done() {
    uint n = 0u;
#if COUNTS > 0
    n += executed_0.x + executed_0.y + executed_0.z + executed_0.w;
#endif
#if COUNTS > 4
    n += executed_4.x + executed_4.y + executed_4.z + executed_4.w;
#endif
    return n;
}

void add_total(uint which, uint n);

// add_counts adds the lane's counts to the workgroup's totals from one on.
void add_counts(uint from) {
#if COUNTS > 0
    add_total(from, executed_0.x);
#endif
#if COUNTS > 1
    add_total(from + 1u, executed_0.y);
#endif
#if COUNTS > 2
    add_total(from + 2u, executed_0.z);
#endif
#if COUNTS > 3
    add_total(from + 3u, executed_0.w);
#endif
#if COUNTS > 4
    add_total(from + 4u, executed_4.x);
#endif
#if COUNTS > 5
    add_total(from + 5u, executed_4.y);
#endif
#if COUNTS > 6
    add_total(from + 6u, executed_4.z);
#endif
#if COUNTS > 7
    add_total(from + 7u, executed_4.w);
#endif
}
