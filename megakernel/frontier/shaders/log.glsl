// log_level writes the record of the current level. The record is valid once the level is complete.
void log_level() {
    uint at = logged * RECORD_WORDS;
    level_log[at] = level;
    level_log[at + 1u] = frontier_nodes;
    level_log[at + 2u] = frontier_edges;
    level_log[at + 3u] = unexplored;
    level_log[at + 4u] = previous;
    level_log[at + 5u] = raw;
    level_log[at + 6u] = topology;
    level_log[at + 7u] = in_resident;
    level_log[at + 8u] = passes;
    level_log[at + 9u] = requeued;
    level_log[at + 10u] = hits;
    level_log[at + 11u] = examined;
}
