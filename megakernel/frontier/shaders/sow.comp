// Sows the sources: pairs of a node and its value.

void main() {
    if (gl_LocalInvocationIndex == 0u) {
        job = control_job;
        begin_hits();
    }
    barrier();
    now = rounds[0];
    place(now.level);
    filled = 0u; // what the first round reads
    for (uint i = gl_GlobalInvocationID.x; i < job.seeds; i += gl_NumWorkGroups.x * WIDTH) {
        travel(uint[BATCH](tiles[i].x), uint[BATCH](tiles[i].y));
    }
    flush_hits();
    end_hits();
}
