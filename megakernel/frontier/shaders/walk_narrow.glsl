// A level that the director runs itself, and the bitmap that is to be cleared meanwhile.

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
    uint spare = sweep != 0u ? bit_words : 0u;
    for (uint word = gl_LocalInvocationIndex; word < spare; word += gl_WorkGroupSize.x) {
        bits[bits_spare + word] = 0u;
    }
    sweep = 0u;
    meet();
    uint count = counted_tile_count;
    push_tiles(count, gl_WorkGroupSize.x);
    end_hits();
    meet();
    turns += 3u * pieces(queued, gl_WorkGroupSize.x) + frontier_edges + 2u * count + pieces(spare, gl_WorkGroupSize.x) + 8u; // or fewer
}
