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
