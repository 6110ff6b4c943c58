// Pushes as push.comp does, an invocation a row or a tile.

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

void push_rows() {
    for (uint at = gl_GlobalInvocationID.x; at < queued; at += walkers * WIDTH) {
        uint u = queue[queue_now + at];
        atomicAnd(bits[bits_now + (u >> 5u)], ~(1u << (u & 31u)));
        uint first = out_offsets[u];
        uint end = out_offsets[u + 1u];
        if (end - first >= heavy) {
            cut(u, end - first);
            end = first;
        }
        push_edges(FRONTIER_VALUE(u), first, end);
    }
}

void push_tiles() {
    for (uint at = gl_GlobalInvocationID.x; at < tile_count; at += walkers * WIDTH) {
        uint u = tiles[at].x;
        uint first = out_offsets[u] + tiles[at].y * TILE_EDGES;
        push_edges(FRONTIER_VALUE(u), first, min(first + TILE_EDGES, out_offsets[u + 1u]));
    }
}

void main() {
    // The groups behind those that push look after the bitmaps.
    if (gl_WorkGroupID.x >= walkers) {
        sweep_words(gl_WorkGroupID.x - walkers);
    } else if (state == STATE_TILES) {
        push_tiles();
    } else {
        push_rows();
    }
    end_hits();
}
