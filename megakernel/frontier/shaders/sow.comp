// Sows the sources: pairs of a node and its value.

void main() {
    begin_hits();
    for (uint i = gl_GlobalInvocationID.x; i < seeds; i += gl_NumWorkGroups.x * WIDTH) {
        travel(uint[BATCH](tiles[i].x), uint[BATCH](tiles[i].y));
    }
    flush_hits();
    end_hits();
}
