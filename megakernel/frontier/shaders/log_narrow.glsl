// log_level writes the record of the current level, in two stores of the vector. The record is valid once the level is
// complete.
void log_level() {
    uint record[RECORD_WORDS] = uint[](level, frontier_nodes, frontier_edges, unexplored, previous, raw, topology, in_resident,
        passes, requeued, hits, examined);
    for (uint i = gl_LocalInvocationIndex; i < RECORD_WORDS; i += gl_WorkGroupSize.x) {
        level_log[logged * RECORD_WORDS + i] = record[i];
    }
}
