// Pushes the values of the frontier along its out-edges. A workgroup takes chunks of frontier
// nodes; rows of many edges are cut into tiles, which are the next round's work. In a frontier
// of a single chunk no row is cut, and all workgroups share the chunk.

void cut(uint u, uint degree) {
    uint count = degree / TILE_EDGES + uint(degree % TILE_EDGES != 0u);
    uint at = atomicAdd(counted[filled].tile_count, count);
    for (uint i = 0u; i < count; i++) {
        tiles[at + i] = uvec2(u, i);
    }
}

// push_rows pushes from some nodes of the hit buffer, at most as many as a workgroup has invocations: along all of their
// edges, or along one of several parts of them.
void push_rows(uint from, uint count, uint part, uint parts) {
    uint lane = gl_LocalInvocationIndex;
    uint first = 0u;
    uint degree = 0u;
    if (lane < count) {
        uint u = queue[queue_now + from + lane];
        first = out_offsets[u];
        degree = out_offsets[u + 1u] - first;
        if (part == 0u) {
            atomicAnd(bits[bits_now + (u >> 5u)], ~(1u << (u & 31u)));
        }
        row_value[lane] = FRONTIER_VALUE(u);
        if (parts == 1u && degree >= (now.topology == HYBRID ? HYBRID_DEGREE : SPARSE_DEGREE)) {
            cut(u, degree);
            degree = 0u;
        }
    }
    uint total = share_rows(first, degree);
    for (uint e = part * BATCH * WIDTH + lane; e < total; e += parts * BATCH * WIDTH) {
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

void push_chunks(uint walkers) {
    // Few nodes: their edges are shared by all workgroups, as far as there are edges for them.
    bool few = now.queued <= WIDTH && walkers > 1u;
    uint part = few ? gl_WorkGroupID.x : 0u;
    if (part != 0u && part * BATCH * WIDTH > now.frontier_edges) {
        return;
    }
    // Others: enough chunks for the device, and enough edges for a workgroup.
    float wanted = float(clamp(now.frontier_edges / PUSH_GROUPS_GOAL, 4u * WIDTH, 32u * WIDTH));
    uint chunk_nodes = uint(clamp(wanted * float(now.frontier_nodes) / float(max(now.frontier_edges, 1u)), 1.0, float(WIDTH)));
    chunk_nodes = few ? WIDTH : chunk_nodes;
    for (uint from = few ? 0u : gl_WorkGroupID.x * chunk_nodes; from < now.queued; from += walkers * chunk_nodes) {
        push_rows(from, min(chunk_nodes, now.queued - from), part, few ? walkers : 1u);
    }
}

void push_tiles(uint walkers) {
    for (uint at = gl_WorkGroupID.x; at < now.tile_count; at += walkers) {
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
