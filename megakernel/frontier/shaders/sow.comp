// Sows the sources: pairs of a node and its value.

void main() {
#ifndef NARROW
    begin_hits();
    barrier();
#endif
    for (uint i = gl_GlobalInvocationID.x; i < seeds; i += gl_NumWorkGroups.x * WIDTH) {
#ifdef NARROW
        travel(tiles[i].x, tiles[i].y);
#else
        travel(uint[BATCH](tiles[i].x), uint[BATCH](tiles[i].y));
#endif
    }
#ifndef NARROW
    flush_hits();
#endif
    end_hits();
}
