// Pushes along the tiles that rows of many edges were cut into.

void push_tiles() {
    for (uint at = gl_WorkGroupID.x; at < tile_count; at += walkers) {
        uint u = tiles[at].x;
        uint value = FRONTIER_VALUE(u);
        uint first = out_offsets[u] + tiles[at].y * TILE_EDGES;
        uint end = min(first + TILE_EDGES, out_offsets[u + 1u]);
        for (uint edge = first + gl_LocalInvocationIndex; edge < end; edge += BATCH * WIDTH) {
            uint node[BATCH];
            uint arriving[BATCH];
            for (uint i = 0u; i < BATCH; i++) {
                uint at_edge = edge + i * WIDTH < end ? edge + i * WIDTH : edge;
                node[i] = out_targets[at_edge];
                arriving[i] = edge + i * WIDTH < end ? extend(value, OUT_WEIGHT(at_edge)) : IDENTITY;
            }
            travel(node, arriving);
        }
        flush_hits();
    }
}
