// Drains one wave. A workgroup's first chunk of the schedule is given by its
// number; further ones it claims by a ticket each. Workgroups never wait for one another.
// The host prints the version, the workgroup width WIDTH, the ring's layout,
// the opcodes and the uniforms of a wave above this line.
//
// A fused kernel (FUSED) has only the bodies of its hot opcodes. It leaves
// other slots published and puts them on the cold list, which a dispatch of
// the interpreter drains next (wave_shift 0).

layout(local_size_x = WIDTH) in;

// What the workgroup's ticket leaves of the schedule from its first position
// on; 0 says that there is nothing left. Two in turn: lane 0 can write the
// next while other lanes still read the last, so one barrier a claim is enough.
shared uint left[2];

// Totals of the workgroup. Lanes that run in step add to different copies,
// because additions to one word are made one after the other.
#define COPIES (WIDTH >= 256 ? 32u : 1u)
shared uint totals[COPIES * TOTALS];

#ifdef FUSED
shared uint cold_total[2]; // cold slots of this chunk and of the last, in turn
shared uint cold_first[2]; // where on the cold list those of a chunk begin, likewise
#define ROWS ((CHUNK + WIDTH - 1) / WIDTH)
#endif

void add_total(uint which, uint n) {
    atomicAdd(totals[(gl_LocalInvocationID.x & COPIES - 1u) * TOTALS + which], n);
}

void clear_totals() {
    for (uint i = gl_LocalInvocationID.x; i < COPIES * TOTALS; i += WIDTH) {
        totals[i] = 0u;
    }
#ifdef COUNTED_REST
    for (uint i = gl_LocalInvocationID.x; i < OPCODE_BINS; i += WIDTH) {
        rest_executed[i] = 0u;
    }
#endif
#ifdef FUSED
    if (gl_LocalInvocationID.x == 0u) {
        cold_total[0] = 0u;
    }
#endif
    memoryBarrierShared();
    barrier();
}

// report adds the lanes' counts up and hands them to the control block.
void report(uint chunks) {
    add_total(0u, executed);
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
            if (which < 4u + COUNTS) {
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

#ifdef FUSED

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

// next_ticket is the first position of another chunk.
uint next_ticket(uint given) {
#ifndef FUSED
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

void main() {
    uint positions = wave_entries << PAGE_SHIFT;
#ifndef FUSED
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
