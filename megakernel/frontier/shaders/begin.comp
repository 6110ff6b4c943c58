// Gives every node its first value and clears the bitmaps and the counts.

void main() {
    if (gl_GlobalInvocationID.x < 3u) {
        uint i = gl_GlobalInvocationID.x;
        push_args[i] = uint(i > 0u);
        pull_args[i] = uint(i > 0u);
        fused_args[i] = uint(i > 0u);
        tiles_args[i] = uint(i > 0u);
        director_args[i] = uint(i > 0u);
    }
    for (uint i = gl_GlobalInvocationID.x; i < SETS * SET_WORDS; i += gl_NumWorkGroups.x * WIDTH) {
        counted[i] = 0u;
    }
    for (uint v = gl_GlobalInvocationID.x; v < nodes; v += gl_NumWorkGroups.x * WIDTH) {
        values[v] = all_active == ACTIVE_NUMBERED ? v : IDENTITY;
    }
    for (uint word = gl_GlobalInvocationID.x; word < bit_words; word += gl_NumWorkGroups.x * WIDTH) {
        bool last = word == bit_words - 1u && (nodes & 31u) != 0u;
        bits[word] = all_active == 0u ? 0u : last ? (1u << (nodes & 31u)) - 1u : 0xFFFFFFFFu;
        bits[bit_words + word] = 0u;
        bits[2u * bit_words + word] = 0u;
#ifdef NARROW
        bits[BITS_CLOSED + word] = bits[BITS_ORPHANS + word];
#endif
    }
}
