#version 430 core
#define WIDTH 64
const uint ARG_WORDS = 12u;
const uint PAGE_SHIFT = 8u;
const uint PAGE_SLOTS = 256u;
const uint PAGE_MASK = 255u;
const uint PRIORITIES = 5u;
const uint OPCODE_BINS = 64u;
const uint ENTRY_COUNT_BITS = 9u;
const uint ENTRY_COUNT_MASK = 511u;
const uint PRINT_RECORD_WORDS = 8u;
const uint PRINT_ARGS = 4u;

const uint STATE_EMPTY = 0u;
const uint STATE_PUBLISHED = 1u;
const uint STATE_DONE = 2u;
const uint STATE_YIELDED = 3u;
const uint STATE_REQUEUED = 4u;
const uint STATE_FAULT = 5u;
const uint STATUS_STATE_MASK = 15u;
const uint STATUS_FAULT_SHIFT = 4u;
const uint STATUS_FAULT_MASK = 4095u;
const uint STATUS_ATTEMPT_SHIFT = 16u;
const uint STATUS_ATTEMPT_MASK = 255u;

const uint FAULT_NONE = 0u;
const uint FAULT_UNKNOWN_OPCODE = 1u;
const uint FAULT_ADDRESS_OUTSIDE_WINDOW = 2u;
const uint FAULT_COPY_TOO_LONG = 3u;
const uint FAULT_BAD_FAULT_CODE = 4u;
const uint FAULT_FOREIGN_TENANT = 5u;
const uint FAULT_BAD_OPERAND = 6u;
const uint FAULT_MALFORMED_PACKED_SLOT = 7u;
const uint FAULT_GAVE_UP_WAITING = 8u;
const uint FAULT_TOO_MANY_STEPS = 9u;
const uint FAULT_USER = 256u;
const uint USER_FAULTS = 3840u;

struct Slot {
    uvec4 head; // opcode, tenant, priority, sequence
    uvec4 args[3];
};

layout(std430, binding = 0) buffer ControlBlock {
    uint ticket;
    uint executed;
    uint faulted;
    uint unreached;
    uint again;
    uint chunks;
    uint local_size;
    uint groups;
    uint chunk;
    uint claim_budget;
    uint step_budget;
    uint cold;
    uint cold_ticket;
    uint cold_dispatch[3];
    uint opcode_counts[64];
} control;
layout(std430, binding = 1) readonly restrict buffer SlotBlock {
    Slot slots[];
};
layout(std430, binding = 2) restrict buffer StatusBlock {
    uint statuses[];
};
layout(std430, binding = 3) writeonly restrict buffer ResultBlock {
    uint results[];
};
layout(std430, binding = 4) readonly restrict buffer ScheduleBlock {
    uint schedule[];
};
layout(std430, binding = 5) restrict buffer HeapBlock {
    uint heap[];
};
layout(std430, binding = 6) writeonly restrict buffer ColdBlock {
    uint cold[];
};
layout(std430, binding = 7) restrict buffer PrintBlock {
    uint print_cursor;
    uint print_header[7];
    uint print_records[];
};
const uint OP_NOP = 0u;
const uint OP_STORE = 1u;
const uint OP_ADD = 2u;
const uint OP_LOAD = 3u;
const uint OP_COMPARE_SWAP = 4u;
const uint OP_COPY = 5u;
const uint OP_FAULT = 6u;
const uint OP_FENCE = 7u;
const uint OP_PRINT = 8u;
const uint OP_PACKED = 9u;
const uint OP_YIELD = 10u;
const uint OP_AWAIT = 11u;
const uint FIRST_USER_OPCODE = 16u;
const uint COPY_CAP = 1024u;
const uint MAX_ATTEMPTS = 255u;
const uint PACKED_MAX = 8u;
const uint NOT_REACHED = 4294967295u;
const uint YIELDED = 4294967294u;
const uint REQUEUED = 4294967293u;
uniform uint wave_entries;
uniform uint wave_chunk;
uniform uint claim_budget;
uniform uint step_budget;
uniform uint wave_tenant;
uniform uint window_base;
uniform uint window_length;
uniform uint wave_shift;
#define CHUNK 256u
#define wave_chunk CHUNK
#define wave_shift PAGE_SHIFT
#define HAS_STORE 1
#define HAS_ADD 1
#define HAS_LOAD 1
#define COUNTED_0 1u
#define COUNTED_1 2u
#define COUNTED_2 3u
#define COUNTED_3 ~1u
#define COUNTED_4 ~1u
#define COUNTED_5 ~1u
#define COUNTED_6 ~1u
#define COUNTED_7 ~1u
#define COUNTS 3
#define TOTALS 7u

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

// What an opcode does. reference.go is the same in Go, case by case. HAS_NAME
// is defined for each built-in opcode whose body this kernel has, USER_OPCODES
// if it has operators' own.

struct Outcome {
    uint fault;  // a fault code, NOT_REACHED, YIELDED or REQUEUED
    uint result; // the slot's result word
};

// beyond reports whether words of the window from address on leave it.
bool beyond(uint address, uint words) {
    return address > window_length || words > window_length - address;
}

uint attempts(uint status) {
    return status >> STATUS_ATTEMPT_SHIFT & STATUS_ATTEMPT_MASK;
}

// finished_status is the status of a slot after an attempt.
uint finished_status(uint status, uint fault) {
    uint attempt = attempts(status) == STATUS_ATTEMPT_MASK ? 0u : 1u;
    uint state = fault == FAULT_NONE ? STATE_DONE : STATE_FAULT | fault << STATUS_FAULT_SHIFT;
#if defined(HAS_YIELD) || defined(HAS_AWAIT)
    state = fault == YIELDED ? STATE_YIELDED : state;
    state = fault == REQUEUED ? STATE_REQUEUED : state;
#endif
    return (status & ~(STATUS_STATE_MASK | STATUS_FAULT_MASK << STATUS_FAULT_SHIFT)) + (attempt << STATUS_ATTEMPT_SHIFT) | state;
}

#ifdef HAS_PRINT
// print_slot begins a record of the print log; ring.PrintCheck is the same.
void print_slot(uint tenant, uint sequence, uvec4 a) {
    uint number = atomicAdd(print_cursor, 1u);
    uint record = (number & uint(print_records.length()) / PRINT_RECORD_WORDS - 1u) * PRINT_RECORD_WORDS;
    uint words[PRINT_RECORD_WORDS] = uint[](number, sequence, tenant, a.x, a.y, a.z, a.w, 0u);
    uint check = 0x9E3779B9u;
    for (uint i = 0u; i < PRINT_RECORD_WORDS - 1u; i++) {
        check = (check + words[i]) * 0x85EBCA6Bu;
        check ^= check >> 15u;
    }
    words[PRINT_RECORD_WORDS - 1u] = check;
    for (uint i = 0u; i < PRINT_RECORD_WORDS; i++) {
        print_records[record + i] = words[i];
    }
}
#endif

#ifdef HAS_PACKED
uint packed_word(uint slot, uint i) {
    i = min(i, ARG_WORDS - 1u);
    return slots[slot].args[i >> 2u][i & 3u];
}

// packed_part is part i of a packed slot whose first argument is head: its
// opcode, and its arguments in a. malformed is a fault if it does not fit.
uint packed_part(uint slot, uint head, uint i, out uvec4 a, out uint malformed) {
    uint count = head & 0xFFu;
    uint words = head >> 8u & 0xFFu;
    uint first = (2u * count + 5u) / 4u;
    uint at = 2u + 2u * i;
    uint pair = packed_word(slot, at >> 2u) >> (at & 3u) * 8u;
    uint opcode = pair & 0xFFu;
    uint offset = pair >> 8u & 0xFFu;
    uint needs = ~0u;
    switch (opcode) {
    case OP_NOP:
        needs = 0u;
        break;
    case OP_LOAD:
        needs = 1u;
        break;
    case OP_STORE:
    case OP_ADD:
        needs = 2u;
        break;
    case OP_COMPARE_SWAP:
        needs = 3u;
        break;
    }
    bool fits = count >= 1u && count <= PACKED_MAX && first + words <= ARG_WORDS && needs <= words && offset <= words - needs;
    malformed = fits ? FAULT_NONE : FAULT_MALFORMED_PACKED_SLOT;
    a = uvec4(packed_word(slot, first + offset), packed_word(slot, first + offset + 1u), packed_word(slot, first + offset + 2u), 0u);
    return opcode;
}
#endif

// execute runs one slot. Opcodes share their operands' places: words are read
// from a0 on and written from a1 on. All moves of words share one loop at the
// end, because software rasterisers run every branch for every lane, and a
// memory access costs them more than the arithmetic that selects it. For the
// same reason a packed slot takes further turns of a loop that others leave
// after one: first every part is checked, then every part runs.
Outcome execute(uint slot, uint opcode, uint tenant, uvec4 a, uint status) {
    uint refused = tenant != wave_tenant ? FAULT_FOREIGN_TENANT : FAULT_NONE;
    uint fault;
    uint result = 0u;
#ifdef HAS_PACKED
    bool packed_slot = opcode == OP_PACKED && refused == FAULT_NONE;
    uint head = a.x;
    uint checks = packed_slot ? min(head & 0xFFu, PACKED_MAX) : 0u;
    uint turn = 0u;
    do {
#endif
        fault = FAULT_NONE;
#ifdef HAS_PACKED
        uint malformed = FAULT_NONE;
        if (packed_slot) {
            opcode = packed_part(slot, head, turn < checks ? turn : turn - checks, a, malformed);
        }
#endif
        uint reads = 0u;  // words read
        uint writes = 0u; // words written
        switch (opcode) {
#ifdef HAS_NOP
        case OP_NOP:
            break;
#endif
#ifdef HAS_FENCE
        case OP_FENCE:
            break;
#endif
#ifdef HAS_PRINT
        case OP_PRINT:
            break;
#endif
#ifdef HAS_PACKED
        case OP_PACKED:
            break;
#endif
#ifdef HAS_STORE
        case OP_STORE:
            writes = 1u;
            break;
#endif
#ifdef HAS_ADD
        case OP_ADD:
            writes = 1u;
            break;
#endif
#ifdef HAS_LOAD
        case OP_LOAD:
            reads = 1u;
            break;
#endif
#ifdef HAS_COMPARE_SWAP
        case OP_COMPARE_SWAP:
            reads = 1u;
            break;
#endif
#ifdef HAS_COPY
        case OP_COPY:
            reads = a.z;
            writes = a.z;
            fault = a.z > COPY_CAP ? FAULT_COPY_TOO_LONG : FAULT_NONE;
            break;
#endif
#ifdef HAS_FAULT
        case OP_FAULT:
            fault = a.x < USER_FAULTS ? FAULT_USER + a.x : FAULT_BAD_FAULT_CODE;
            break;
#endif
#ifdef HAS_YIELD
        case OP_YIELD:
            fault = a.x > MAX_ATTEMPTS ? FAULT_BAD_OPERAND : attempts(status) < a.x ? YIELDED : FAULT_NONE;
            break;
#endif
#ifdef HAS_AWAIT
        case OP_AWAIT:
            reads = 1u;
            fault = a.z < 1u || a.z > MAX_ATTEMPTS ? FAULT_BAD_OPERAND : FAULT_NONE;
            break;
#endif
        default:
#ifdef USER_OPCODES
            fault = has_user_opcode(opcode) ? FAULT_NONE : FAULT_UNKNOWN_OPCODE;
#else
            fault = FAULT_UNKNOWN_OPCODE;
#endif
        }

#ifdef HAS_PACKED
        fault = malformed != FAULT_NONE ? malformed : fault;
#endif
        bool outside = reads > 0u && beyond(a.x, reads) || writes > 0u && beyond(a.y, writes);
        fault = fault == FAULT_NONE && outside ? FAULT_ADDRESS_OUTSIDE_WINDOW : fault;
        fault = refused != FAULT_NONE ? refused : fault;
        uint steps = max(reads, writes);
        fault = fault == FAULT_NONE && steps > step_budget ? NOT_REACHED : fault;
#ifdef HAS_PACKED
        if (fault == FAULT_NONE && turn >= checks) {
#else
        if (fault == FAULT_NONE) {
#endif
            uint source = window_base + a.x;
            uint target = window_base + a.y;
            uint value = a.x;
#ifdef HAS_ADD
            if (opcode == OP_ADD) {
                atomicAdd(heap[target], a.x);
                writes = 0u;
            }
#endif
#ifdef HAS_COMPARE_SWAP
            if (opcode == OP_COMPARE_SWAP) {
                value = atomicCompSwap(heap[source], a.y, a.z);
                reads = 0u;
                result = value;
            }
#endif
#ifdef HAS_PRINT
            if (opcode == OP_PRINT) {
                print_slot(tenant, slots[slot].head.w, a);
            }
#endif
#ifdef HAS_COPY
            uint i = 0u;
            do {
                if (i < reads) {
                    value = heap[source + i];
                }
                if (i < writes) {
                    heap[target + i] = value;
                }
            } while (++i < steps);
#else
            if (reads > 0u) {
                value = heap[source];
            }
            if (writes > 0u) {
                heap[target] = value;
            }
#endif
#ifdef HAS_LOAD
            result = opcode == OP_LOAD ? value : result;
#endif
#ifdef HAS_AWAIT
            if (opcode == OP_AWAIT) {
                result = value;
                if (value != a.y) {
                    fault = attempts(status) + 1u < a.z ? REQUEUED : FAULT_GAVE_UP_WAITING;
                }
            }
#endif
#ifdef USER_OPCODES
            if (opcode >= FIRST_USER_OPCODE) {
                run_user_opcode(slot, opcode, a);
                fault = rm_fault;
                result = rm_word;
            }
#endif
        }
#ifdef HAS_PACKED
    } while (++turn < 2u * checks && fault == FAULT_NONE);
#endif
    return Outcome(fault, fault == FAULT_NONE ? result : 0u);
}

// How a slot is found, run and handed back.

// What this lane did besides the counts of count_done, added up at the end.
#ifdef COUNTED_REST
uint executed = 0u;
#endif
uint faulted = 0u;
uint unreached = 0u;
uint again = 0u;

// all_executed is how many slots this lane has done.
uint all_executed() {
#ifdef COUNTED_REST
    return executed;
#else
    return counted_done();
#endif
}

// A scheduled slot as it was read. The reads do not depend on one another, so
// that they are under way at the same time.
struct Found {
    uint slot;
    uint status;
    uvec2 head; // opcode, tenant
    uvec4 a;
    bool live; // it is scheduled and published
};

// find reads the slot at one position of the schedule, or of the cold list. A
// position past the page's count names a slot of the same page, which is safe to read.
Found find(uint position) {
    Found f;
    uint entry = schedule[position >> wave_shift];
    uint offset = position & PAGE_MASK;
    bool scheduled = offset < (entry & ENTRY_COUNT_MASK);
    f.slot = (entry >> ENTRY_COUNT_BITS << PAGE_SHIFT) + offset;
#ifdef CHAINED
    f.slot = wave_shift == 0u ? entry : f.slot;
    scheduled = scheduled || wave_shift == 0u;
#endif
    f.status = statuses[f.slot];
    f.head = slots[f.slot].head.xy;
    f.a = slots[f.slot].args[0];
    f.live = scheduled && (f.status & STATUS_STATE_MASK) == STATE_PUBLISHED;
    return f;
}

// attempt runs a slot that was found.
void attempt(Found f) {
    Outcome outcome = execute(f.slot, f.head.x, f.head.y, f.a, f.status);
    if (outcome.fault == NOT_REACHED) {
        unreached++;
        return;
    }
    bool failed = outcome.fault != FAULT_NONE;
#if defined(HAS_YIELD) || defined(HAS_AWAIT)
    bool round = outcome.fault == YIELDED || outcome.fault == REQUEUED;
    again += uint(round);
    faulted += uint(failed && !round);
#else
    faulted += uint(failed);
#endif
#ifdef COUNTED_REST
    executed += uint(!failed);
#endif
    count_done(failed ? ~0u : f.head.x);
    results[f.slot] = outcome.result;
    statuses[f.slot] = finished_status(f.status, outcome.fault);
}

// What the workgroups of a wave have in common: the totals they report, and the
// tickets by which they claim chunks of the schedule.

layout(local_size_x = WIDTH) in;

// What the workgroup's ticket leaves of the schedule from its first position
// on; 0 says that there is nothing left. Two in turn: lane 0 can write the
// next while other lanes still read the last, so one barrier a claim is enough.
shared uint left[2];

// Totals of the workgroup. Lanes that run in step add to different copies,
// because additions to one word are made one after the other.
#define COPIES (WIDTH >= 256 ? 32u : 1u)
shared uint totals[COPIES * TOTALS];

void add_total(uint which, uint n) {
    atomicAdd(totals[(gl_LocalInvocationID.x & COPIES - 1u) * TOTALS + which], n);
}

// clear_totals zeroes the totals; a barrier has to follow before they are added to.
void clear_totals() {
    for (uint i = gl_LocalInvocationID.x; i < COPIES * TOTALS; i += WIDTH) {
        totals[i] = 0u;
    }
#ifdef COUNTED_REST
    for (uint i = gl_LocalInvocationID.x; i < OPCODE_BINS; i += WIDTH) {
        rest_executed[i] = 0u;
    }
#endif
}

// report adds the lanes' counts up and hands them to the control block.
void report(uint chunks) {
    add_total(0u, all_executed());
    add_total(1u, faulted);
    add_total(2u, unreached);
    add_total(3u, again);
    add_counts(4u);
    memoryBarrierShared();
    barrier();
    for (uint which = gl_LocalInvocationID.x; which < TOTALS; which += WIDTH) {
        uint n = 0u;
        for (uint i = 0u; i < COPIES; i++) {
            n += totals[i * TOTALS + which];
        }
        if (n == 0u) {
            continue;
        }
        switch (which) {
        case 0u:
            atomicAdd(control.executed, n);
            break;
        case 1u:
            atomicAdd(control.faulted, n);
            break;
        case 2u:
            atomicAdd(control.unreached, n);
            break;
        case 3u:
            atomicAdd(control.again, n);
            break;
        default:
            if (which < 4u + uint(COUNTS)) {
                atomicAdd(control.opcode_counts[COUNTED[which - 4u]], n);
            }
        }
    }
#ifdef COUNTED_REST
    for (uint i = gl_LocalInvocationID.x; i < OPCODE_BINS; i += WIDTH) {
        if (rest_executed[i] != 0u) {
            atomicAdd(control.opcode_counts[i], rest_executed[i]);
        }
    }
#endif
    if (gl_LocalInvocationID.x == 0u) {
        atomicAdd(control.chunks, chunks);
    }
}

// next_ticket is the first position of another chunk.
uint next_ticket(uint given) {
#ifdef CHAINED
    if (wave_shift == 0u) {
        return given + atomicAdd(control.cold_ticket, wave_chunk);
    }
#endif
    return given + atomicAdd(control.ticket, wave_chunk);
}

void echo() {
    control.local_size = gl_WorkGroupSize.x;
    control.groups = gl_NumWorkGroups.x;
    control.chunk = wave_chunk;
    control.claim_budget = claim_budget;
    control.step_budget = step_budget;
    control.cold_dispatch[1] = 1u;
    control.cold_dispatch[2] = 1u;
}

// Drains one wave whose slots all have opcodes of this kernel, which the host
// knows: there is nothing to leave and no cold list. A slot of another opcode
// would end in a fault, as unknown ones do.
//
// A workgroup's first chunk is given by its number; further ones it claims by
// a ticket each. The barrier of a claim stands behind the reads of the chunk's
// first row, which are under way while the workgroup waits for the ticket.

#define ROWS ((CHUNK + WIDTH - 1) / WIDTH)

void main() {
    uint positions = wave_entries << PAGE_SHIFT;
    if (gl_GlobalInvocationID.x == 0u) {
        echo();
    }
    uint lane = gl_LocalInvocationID.x;
    uint given = gl_NumWorkGroups.x * wave_chunk; // positions of all first chunks
    uint first = gl_WorkGroupID.x * wave_chunk;
    if (first >= positions) {
        return; // the whole workgroup: nothing to do and nothing to report
    }
    clear_totals();
    // As in drain.comp, 0 ends the loop also for lanes that pad a vector.
    uint rest = first < positions ? positions - first : 0u;
    uint chunks = 0u;
    for (uint claim = 0u; claim < claim_budget && rest != 0u; claim++) {
        chunks++;
        first = positions - rest;
        uint end = first + min(rest, wave_chunk);
        uint ticket = positions;
        if (lane == 0u && given < positions && claim + 1u < claim_budget) {
            ticket = next_ticket(given);
        }
        uint p = first + lane;
        Found f = find(min(p, end - 1u));
        f.live = f.live && p < end;
        if (lane == 0u) {
            left[claim & 1u] = ticket < positions ? positions - ticket : 0u;
        }
        barrier(); // of shared memory too; the totals' zeros are behind it as well
        rest = left[claim & 1u];
        if (f.live) {
            attempt(f);
        }
        for (uint row = 1u; row < ROWS; row++) {
            p += WIDTH;
            f = find(min(p, end - 1u));
            if (f.live && p < end) {
                attempt(f);
            }
        }
    }
    report(chunks);
}
