// The director of narrow devices: closes the round before, runs levels of few nodes itself, and writes the group counts
// of the dispatches that follow, zero for those that were not chosen. Its invocations fit in one vector of the processor,
// where a barrier takes next to no time. Each invocation has all words in variables and makes the same decisions as the
// others.

void order() {
    bool pushed = state == STATE_PUSH;
    bool pulls = state == STATE_PULL;
    uint cleaners = sweep != 0u ? pieces(bit_words, WIDTH) : 0u;
    push_args[0] = pushed ? walkers + cleaners : pulls || state == STATE_GATHER ? cleaners : 0u;
    uint tiles = pushed && frontier_edges >= heavy ? frontier_edges / (TILE_EDGES / 2u) : 0u; // at most
    tiles_args[0] = min(max(min(pieces(tiles, WIDTH), LEAST_TILE_GROUPS), pieces(tiles, TILES_A_GROUP)), tile_groups);
    pull_args[0] = pulls ? pull_groups : 0u;
    director_args[0] = uint(state < STATE_FULL);
}

void main() {
    bool walked = false;
    load_words();
    turns = 0u;
    take_counts();
    // Once the job has ended there is nothing left to decide.
    while (state < STATE_LEVELS) {
        log_level();
        direct();
        if (!walks_itself()) {
            break;
        }
        if (!walked) {
            store_words(SLOT_WORDS); // where a recorded run begins
            mark_frontier(true, false);
            walked = true;
        }
        walk_level();
        take_counts();
    }
    mark_frontier(walked, true);
    fused_args[0] = uint(walked);
    store_words(0u);
    order();
}
