// Drains one wave. A workgroup's first chunk of the schedule is given by its
// number; further ones it claims by a ticket each. Workgroups never wait for one another.
// The host prints the version, the workgroup width WIDTH, the ring's layout,
// the opcodes and the uniforms of a wave above this line.
//
// A fused kernel (FUSED) has only the bodies of its hot opcodes. It leaves
// other slots published and puts them on the cold list, which a dispatch of
// the interpreter drains next (wave_shift 0).

#ifdef FUSED
shared uint cold_total[2]; // cold slots of this chunk and of the last, in turn
shared uint cold_first[2]; // where on the cold list those of a chunk begin, likewise
#define ROWS ((CHUNK + WIDTH - 1) / WIDTH)

bool is_hot(uint opcode) {
    uint word = opcode < 32u ? HOT_LOW : HOT_HIGH;
    return opcode < 64u && (word >> (opcode & 31u) & 1u) != 0u;
}

// drain_chunk runs the hot slots of a chunk and returns which of its rows
// this lane left, a bit each. It reads BATCH rows before it runs them.
uint drain_chunk(uint first, uint end) {
    uint cold_rows = 0u;
    uint p = first + gl_LocalInvocationID.x;
    for (uint row = 0u; row < ROWS; row += BATCH) {
        Found found[BATCH];
        for (uint i = 0u; i < BATCH; i++) {
            uint at = p + i * WIDTH;
            found[i] = find(min(at, end - 1u));
            found[i].live = found[i].live && at < end;
        }
        for (uint i = 0u; i < BATCH; i++) {
            bool hot = is_hot(found[i].head.x);
            if (found[i].live && hot) {
                attempt(found[i]);
            }
            cold_rows |= uint(found[i].live && !hot) << (row + i & 31u);
        }
        p += BATCH * WIDTH;
    }
    return cold_rows;
}

// reserve_cold takes room on the cold list for the slots that the workgroup
// left of a chunk. Called by lane 0 when all lanes have added theirs.
void reserve_cold(uint turn) {
    uint count = cold_total[turn];
    if (count != 0u) {
        uint begin = atomicAdd(control.cold, count);
        cold_first[turn] = begin;
        atomicMax(control.cold_dispatch[0], min((begin + count + CHUNK - 1u) / CHUNK, gl_NumWorkGroups.x));
    }
}

// leave_cold puts the slots that this lane left of a chunk on the cold list,
// from the place at of the chunk's room on.
void leave_cold(uint first, uint cold_rows, uint at) {
    while (cold_rows != 0u) {
        uint position = first + gl_LocalInvocationID.x + uint(findLSB(cold_rows)) * WIDTH;
        uint entry = schedule[position >> PAGE_SHIFT];
        cold[at++] = (entry >> ENTRY_COUNT_BITS << PAGE_SHIFT) + (position & PAGE_MASK);
        cold_rows &= cold_rows - 1u;
    }
}

#else

void drain_chunk(uint first, uint end) {
    uint p = first + gl_LocalInvocationID.x;
    do {
        if (p < end) {
            Found f = find(p);
            if (f.live) {
                attempt(f);
            }
        }
        p += WIDTH;
    } while (p < end);
}

#endif

void main() {
    uint positions = wave_entries << PAGE_SHIFT;
#ifdef CHAINED
    if (wave_shift == 0u) {
        positions = control.cold;
    } else
#endif
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
#ifdef FUSED
    if (lane == 0u) {
        cold_total[0] = 0u;
    }
#endif
    memoryBarrierShared();
    barrier();
    // Software rasterisers run loops also for the lanes that pad a
    // workgroup's last vector, and these lanes read zeros from memory: zero is therefore
    // the value that ends the loop, or the padding would go on to take part in
    // barriers after the workgroup is done.
    uint rest = first < positions ? positions - first : 0u;
    uint chunks = 0u;
#ifdef FUSED
    // What this lane left of the chunk before. It is put on the cold list one
    // barrier later, when its place there is known.
    uint last_first = 0u;
    uint last_rows = 0u;
    uint last_at = 0u;
#endif
    for (uint claim = 0u; claim < claim_budget && rest != 0u; claim++) {
        chunks++;
        first = positions - rest;
        uint end = first + min(rest, wave_chunk);
        // The ticket for the next chunk is under way while this one runs.
        bool more = given < positions && claim + 1u < claim_budget;
        uint ticket = positions;
        if (lane == 0u && more) {
            ticket = next_ticket(given);
        }
#ifdef FUSED
        if (lane == 0u) {
            cold_total[claim + 1u & 1u] = 0u;
        }
        uint cold_rows = drain_chunk(first, end);
        uint at = 0u;
        if (cold_rows != 0u) {
            at = atomicAdd(cold_total[claim & 1u], uint(bitCount(cold_rows)));
        }
#else
        drain_chunk(first, end);
        if (!more) {
            break;
        }
#endif
        if (lane == 0u) {
            left[claim & 1u] = ticket < positions ? positions - ticket : 0u;
        }
        memoryBarrierShared();
        barrier();
        rest = left[claim & 1u];
#ifdef FUSED
        leave_cold(last_first, last_rows, cold_first[claim + 1u & 1u] + last_at);
        if (lane == 0u) {
            reserve_cold(claim & 1u);
        }
        last_first = first;
        last_rows = cold_rows;
        last_at = at;
#endif
    }
#ifdef FUSED
    memoryBarrierShared();
    barrier();
    leave_cold(last_first, last_rows, cold_first[chunks + 1u & 1u] + last_at);
#endif
    report(chunks);
}
