// A level that the director runs itself. It clears the spare bitmap too, if that has to be done.

void meet() {
    memoryBarrierBuffer();
    barrier();
}

// mark_frontier sets or clears the marks of the current frontier. If the first arrival wins, walks do without them.
void mark_frontier(bool walked, bool set) {
#ifdef FIRST_WINS
    uint count = walked ? queued : 0u;
    for (uint at = gl_LocalInvocationIndex; at < count; at += gl_WorkGroupSize.x) {
        uint u = queue[queue_now + at];
        uint bit_of = 1u << (u & 31u);
        atomicAnd(bits[bits_now + (u >> 5u)], ~bit_of);
        atomicOr(bits[bits_now + (u >> 5u)], set ? bit_of : 0u);
        atomicOr(bits[BITS_CLOSED + (u >> 5u)], bit_of);
    }
#endif
}

// cut_rows cuts the heavy rows of the frontier into tiles. It is a loop of its own because few small frontiers have a
// heavy row, and masked code costs as much as code that runs.
void cut_rows(uint lanes) {
    uint rows = frontier_edges >= heavy && tile_groups != 0u ? queued : 0u;
    for (uint at = gl_LocalInvocationIndex; at < rows; at += lanes) {
        uint u = queue[queue_now + at];
        uint degree = out_degree(u);
        if (degree >= heavy) {
            cut(u, degree);
        }
    }
}

void walk_level() {
    uint lane = gl_LocalInvocationIndex, lanes = gl_WorkGroupSize.x;
    in_resident = 1u;
    passes = 1u;
    heavy = LEAST_HEAVY;
    lane_next = 0u;
    lane_first = 0u;
    uint spare = sweep != 0u ? bit_words : 0u;
    for (uint word = lane; word < spare; word += lanes) {
        bits[bits_spare + word] = 0u;
    }
    sweep = 0u;
    cut_rows(lanes);
    push_rows(lanes);
    meet();
    uint cuts = counted_tile_count;
    push_tiles(cuts, lanes);
    meet();
    uint found = counted_hits;
    for (uint at = lane; at < found; at += lanes) {
        lane_next += out_degree(queue[queue_next + at]);
    }
    end_hits();
    meet();
    // Every loop takes one turn more than it has work, and the inner loop over rows as many as the longest row has.
    turns += 4u * pieces(queued, lanes) + pieces(found, lanes) + frontier_edges + 2u * cuts + pieces(spare, lanes) + 8u;
}
