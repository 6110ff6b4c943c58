// A level that the director runs itself.

void meet() {
    memoryBarrierBuffer();
    barrier();
}

void walk_level() {
    in_resident = 1u;
    passes = 1u;
    heavy = LEAST_HEAVY;
    lane_next = 0u;
    lane_first = 0u;
    push_rows(gl_WorkGroupSize.x);
    meet();
    uint count = counted_tile_count;
    push_tiles(count, gl_WorkGroupSize.x);
    end_hits();
    meet();
    turns += 3u * pieces(queued, gl_WorkGroupSize.x) + frontier_edges + 2u * count + 8u; // or fewer
}
