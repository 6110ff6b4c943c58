// The interpreter: drains one wave. Workgroups claim positions of the schedule
// by a ticket each and never wait for one another. The host prints the version,
// the workgroup width WIDTH, the ring's layout, the opcodes and the uniforms of
// a wave above this line.

layout(local_size_x = WIDTH) in;

// What the workgroup's ticket leaves of the schedule from its first position
// on; 0 says that there is nothing left. Two in turn: lane 0 can write the
// next while other lanes still read the last, so one barrier a claim is enough.
shared uint left[2];
shared uint total_faulted;
shared uint total_unreached;
shared uint total_executed[OPCODE_BINS];

// What this lane did, added up at the end.
uvec4 executed_low = uvec4(0u);  // slots done of opcodes 0..3
uvec4 executed_high = uvec4(0u); // and 4..7
uint faulted = 0u;
uint unreached = 0u;

// claim_next takes the next chunk for the whole workgroup and returns how much
// of the schedule begins with it. Software rasterisers run the loop of main
// also for the lanes that pad a workgroup's last vector, and these lanes read
// zeros from memory: zero is therefore the value that ends the loop, or the
// padding would go on to take part in barriers after the workgroup is done.
uint claim_next(uint claim, uint positions) {
    if (gl_LocalInvocationID.x == 0u) {
        uint first = atomicAdd(control.ticket, wave_chunk);
        left[claim & 1u] = first < positions ? positions - first : 0u;
    }
    memoryBarrierShared();
    barrier();
    return left[claim & 1u];
}

// attempt runs the slot at one position of the schedule if it is published.
void attempt(uint position) {
    uint entry = schedule[position >> PAGE_SHIFT];
    uint offset = position & PAGE_MASK;
    if (offset >= (entry & ENTRY_COUNT_MASK)) {
        return;
    }
    uint slot = (entry >> ENTRY_COUNT_BITS << PAGE_SHIFT) + offset;
    uint status = statuses[slot];
    if ((status & STATUS_STATE_MASK) != STATE_PUBLISHED) {
        return;
    }
    uint opcode = slots[slot].head.x;
    uint tenant = slots[slot].head.y;
    Outcome outcome = execute(opcode, tenant, slots[slot].args[0]);
    if (outcome.fault == NOT_REACHED) {
        unreached++;
        return;
    }
    bool failed = outcome.fault != FAULT_NONE;
    faulted += uint(failed);
    uvec4 bin = failed ? uvec4(~0u) : uvec4(opcode);
    executed_low += uvec4(equal(bin, uvec4(0u, 1u, 2u, 3u)));
    executed_high += uvec4(equal(bin, uvec4(4u, 5u, 6u, 7u)));
    results[slot] = outcome.result;
    statuses[slot] = finished_status(status, outcome.fault);
}

// report adds the lanes' counts up and hands them to the control block.
void report() {
    for (uint i = gl_LocalInvocationID.x; i < OPCODE_BINS; i += WIDTH) {
        total_executed[i] = 0u;
    }
    if (gl_LocalInvocationID.x == 0u) {
        total_faulted = 0u;
        total_unreached = 0u;
    }
    memoryBarrierShared();
    barrier();
    atomicAdd(total_faulted, faulted);
    atomicAdd(total_unreached, unreached);
    for (uint i = 0u; i < 4u; i++) {
        atomicAdd(total_executed[i], executed_low[i]);
        atomicAdd(total_executed[i + 4u], executed_high[i]);
    }
    memoryBarrierShared();
    barrier();
    for (uint i = gl_LocalInvocationID.x; i < OPCODE_BINS; i += WIDTH) {
        atomicAdd(control.opcode_counts[i], total_executed[i]);
        atomicAdd(control.executed, total_executed[i]);
    }
    if (gl_LocalInvocationID.x == 0u) {
        atomicAdd(control.faulted, total_faulted);
        atomicAdd(control.unreached, total_unreached);
    }
}

void main() {
    if (gl_GlobalInvocationID.x == 0u) {
        control.local_size = gl_WorkGroupSize.x;
        control.groups = gl_NumWorkGroups.x;
        control.chunk = wave_chunk;
        control.claim_budget = claim_budget;
        control.step_budget = step_budget;
    }
    uint positions = wave_entries << PAGE_SHIFT;
    uint chunks = 0u;
    for (uint claim = 0u; claim < claim_budget; claim++) {
        uint rest = claim_next(claim, positions);
        if (rest == 0u) {
            break;
        }
        chunks++;
        uint first = positions - rest;
        uint end = first + min(rest, wave_chunk);
        uint p = first + gl_LocalInvocationID.x;
        do {
            if (p < end) {
                attempt(p);
            }
            p += WIDTH;
        } while (p < end);
    }
    if (gl_LocalInvocationID.x == 0u) {
        atomicAdd(control.chunks, chunks);
    }
    report();
}
