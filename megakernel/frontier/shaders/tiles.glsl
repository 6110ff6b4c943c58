// Pushes along the tiles that rows of many edges were cut into.

void push_tiles() {
    for (uint at = gl_WorkGroupID.x; at < tile_count; at += walkers) {
        uint u = tiles[at].x;
        uint value = values[u];
        uint first = out_offsets[u] + tiles[at].y * TILE_EDGES;
        uint end = min(first + TILE_EDGES, out_offsets[u + 1u]);
        for (uint edge = first + gl_LocalInvocationIndex; edge < end; edge += WIDTH) {
            travel(out_targets[edge], extend(value, OUT_WEIGHT(edge)));
        }
        flush_hits();
    }
}
