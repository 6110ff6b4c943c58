// Pushes on narrow devices: an invocation takes a row or a tile at a time.

void cut(uint u, uint degree) {
    uint count = degree / TILE_EDGES + uint(degree % TILE_EDGES != 0u);
    uint at = atomicAdd(counted_tile_count, count);
    for (uint i = 0u; i < count; i++) {
        tiles[at + i] = uvec2(u, i);
    }
}

void push_edges(uint value, uint first, uint end) {
    for (uint edge = first; edge < end; edge++) {
        travel(out_targets[edge], extend(value, OUT_WEIGHT(edge)));
    }
}

void push_rows(uint lanes) {
    for (uint at = gl_GlobalInvocationID.x; at < queued; at += lanes) {
        uint u = queue[queue_now + at];
        leave(u);
        uint first = out_offsets[u];
        uint end = out_offsets[u + 1u];
        bool whole = end - first < heavy;
#ifndef WALKS
        if (!whole) {
            cut(u, end - first);
        }
#endif
        push_edges(FRONTIER_VALUE(u), first, whole ? end : first);
    }
}

void push_tiles(uint count, uint lanes) {
    for (uint at = gl_GlobalInvocationID.x; at < count; at += lanes) {
        uint u = tiles[at].x;
        uint first = out_offsets[u] + tiles[at].y * TILE_EDGES;
        push_edges(FRONTIER_VALUE(u), first, min(first + TILE_EDGES, out_offsets[u + 1u]));
    }
}
