// Gives every node its first value and clears the bitmaps and the counts.

void main() {
    job = control_job;
    uint lane = gl_GlobalInvocationID.x, lanes = gl_NumWorkGroups.x * WIDTH;
    if (lane == 0u) {
        persistent_args[0] = 0u;
        persistent_args[1] = 1u;
        persistent_args[2] = 1u;
        for (uint i = 0u; i < 3u; i++) {
            counted[i] = Counts(0u, 0u, 0u, 0u, 0u, 0u);
        }
        reached = 0u;
        reached_edges = 0u;
    }
    for (uint v = lane; v < job.nodes; v += lanes) {
        values[v] = job.all_active == ACTIVE_NUMBERED ? v : IDENTITY;
    }
    for (uint word = lane; word < job.bit_words; word += lanes) {
        bool last = word == job.bit_words - 1u && (job.nodes & 31u) != 0u;
        bits[word] = job.all_active == 0u ? 0u : last ? (1u << (job.nodes & 31u)) - 1u : 0xFFFFFFFFu;
        bits[job.bit_words + word] = 0u;
        bits[2u * job.bit_words + word] = 0u;
    }
}
