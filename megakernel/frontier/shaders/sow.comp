// Sows the sources: pairs of a node and its value.

layout(local_size_x = WIDTH) in;

void main() {
    begin_hits();
    for (uint i = gl_GlobalInvocationID.x; i < seeds; i += gl_NumWorkGroups.x * WIDTH) {
        travel(tiles[i].x, tiles[i].y);
    }
    flush_hits();
    end_hits();
}
