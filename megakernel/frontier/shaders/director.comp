// The director as a kernel of its own: decides, and writes the group counts of the dispatches that
// follow, zero for what was not chosen.

void order() {
    bool walks = state == STATE_PUSH || state == STATE_TILES;
    bool pulls = state == STATE_PULL;
    uint cleaners = sweep != 0u ? pieces(bit_words, WIDTH) : 0u;
    push_args[0] = walks ? walkers + cleaners : pulls || state == STATE_GATHER ? cleaners : 0u;
    pull_args[0] = pulls ? pull_groups : 0u;
    order_resident();
}

void main() {
    load_words();
    // What ended orders nothing any more.
    if (state < STATE_LEVELS) {
        direct();
        store_words();
    }
    order();
}
