// Pushes of narrow devices, an invocation a row or a tile.

// cut_rows cuts the heavy rows of the frontier into tiles. Most frontiers have none, and masked code costs as much as any: so
// it is a loop of its own.
void cut_rows(uint lanes) {
    uint rows = frontier_edges >= heavy && tile_groups != 0u ? queued : 0u;
    for (uint at = gl_GlobalInvocationID.x; at < rows; at += lanes) {
        uint u = queue[queue_now + at];
        uint degree = out_degree(u);
        uint count = degree >= heavy ? degree / TILE_EDGES + uint(degree % TILE_EDGES != 0u) : 0u;
        uint first = count != 0u ? atomicAdd(counted_tile_count, count) : 0u;
        for (uint i = 0u; i < count; i++) {
            tiles[first + i] = uvec2(u, i);
        }
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
        push_edges(FRONTIER_VALUE(u), first, end - first < heavy ? end : first);
    }
}

void push_tiles(uint count, uint lanes) {
    for (uint at = gl_GlobalInvocationID.x; at < count; at += lanes) {
        uint u = tiles[at].x;
        uint first = out_offsets[u] + tiles[at].y * TILE_EDGES;
        push_edges(FRONTIER_VALUE(u), first, min(first + TILE_EDGES, out_offsets[u + 1u]));
    }
}
