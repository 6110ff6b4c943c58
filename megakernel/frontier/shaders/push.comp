// Pushes the values of the frontier along its out-edges. A workgroup takes
// chunks of frontier nodes; rows of many edges are cut into tiles, which are the next round's work.

shared uint row_value[WIDTH];

void cut(uint u, uint degree) {
    uint count = degree / TILE_EDGES + uint(degree % TILE_EDGES != 0u);
    uint at = atomicAdd(tile_count, count);
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

void main() {
    // The groups behind those that push look after the bitmaps.
    if (gl_WorkGroupID.x >= walkers) {
        sweep_words(gl_WorkGroupID.x - walkers);
        return;
    }
    begin_hits();
    if (state == STATE_TILES) {
        push_tiles();
    } else {
        push_chunks();
    }
    end_hits();
}
