// Pushes along the tiles that push.comp cut.

layout(local_size_x = WIDTH) in;

void main() {
    begin_hits();
    for (uint at = gl_WorkGroupID.x; at < tile_count; at += gl_NumWorkGroups.x) {
        uint u = tiles[at].x;
        uint value = values[u];
        uint first = out_offsets[u] + tiles[at].y * TILE_EDGES;
        uint end = min(first + TILE_EDGES, out_offsets[u + 1u]);
        for (uint edge = first + gl_LocalInvocationIndex; edge < end; edge += WIDTH) {
            travel(out_targets[edge], extend(value, OUT_WEIGHT(edge)));
        }
        flush_hits();
    }
    end_hits();
}
