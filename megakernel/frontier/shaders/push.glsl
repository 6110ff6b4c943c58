// Pushes the values of the frontier along its out-edges. A workgroup takes chunks of
// frontier nodes; rows of many edges are cut into tiles, which are the next round's work.

void cut(uint u, uint degree) {
    uint count = degree / TILE_EDGES + uint(degree % TILE_EDGES != 0u);
    uint at = atomicAdd(counted_tile_count, count);
    for (uint i = 0u; i < count; i++) {
        tiles[at + i] = uvec2(u, i);
    }
}

void push_chunks() {
    uint lane = gl_LocalInvocationIndex;
    uint chunks = queued / chunk_nodes + uint(queued % chunk_nodes != 0u);
    for (uint chunk = gl_WorkGroupID.x; chunk < chunks; chunk += walkers) {
        uint first = 0u;
        uint degree = 0u;
        uint at = chunk * chunk_nodes + lane;
        if (lane < chunk_nodes && at < queued) {
            uint u = queue[queue_now + at];
            atomicAnd(bits[bits_now + (u >> 5u)], ~(1u << (u & 31u)));
            row_value[lane] = FRONTIER_VALUE(u);
            first = out_offsets[u];
            degree = out_offsets[u + 1u] - first;
            if (degree >= heavy) {
                cut(u, degree);
                degree = 0u;
            }
        }
        uint total = share_rows(first, degree);
        for (uint e = lane; e < total; e += BATCH * WIDTH) {
            uint node[BATCH];
            uint arriving[BATCH];
            for (uint i = 0u; i < BATCH; i++) {
                uint at_edge = e + i * WIDTH;
                bool there = at_edge < total;
                uint row = row_of(there ? at_edge : e);
                uint edge = row_shift[row] + (there ? at_edge : e);
                node[i] = out_targets[edge];
                arriving[i] = there ? extend(row_value[row], OUT_WEIGHT(edge)) : IDENTITY;
            }
            travel(node, arriving);
        }
        flush_hits();
    }
}

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
