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
