// What the director does before a round: it closes the round before, and decides what the next one does. Run
// by one invocation.

#ifdef NARROW
#define offers_resident uint(turns <= RESIDENT_TURNS)
#define TILES_WALKED true // in the same round
bool walks_itself() { return state == STATE_RESIDENT && in_resident == 0u; }
#else
#define TILES_WALKED false
uniform uint offers_resident; // 1: the resident kernel is in this round
#endif

void gather() {
    state = STATE_GATHER;
    gathered = 0u;
    sweep |= 2u;
#ifdef NARROW
    walkers = 0u;
#endif
}

void push() {
    state = STATE_PUSH;
    passes++;
    tile_count = 0u;
#ifdef NARROW
    walkers = clamp(push_groups, pieces(queued, WIDTH * NARROW_MOST), pieces(queued, WIDTH * NARROW_ROWS));
    uint most = LOOP_BUDGET / pieces(queued, walkers * WIDTH) - 4u;
    heavy = min(most, topology == HYBRID ? hybrid_degree : 2u * LEAST_HEAVY);
#endif
}

// begins says whether the current level can be begun, and decides it.
bool begins(bool by_host) {
    if (frontier_nodes == 0u) {
        state = STATE_DONE;
    } else if (level >= max_levels) {
        state = STATE_LEVELS;
    } else if (logged >= LOG_RECORDS) {
        state = STATE_FULL;
    } else if (host_decides != 0u && !by_host) {
        state = STATE_ASK;
    } else {
        choose(by_host);
        return true;
    }
    return false;
}

// run_level begins a level that was decided, and returns the state of what is left to begin.
uint run_level() {
    bool fits = (offers_resident != 0u || topology == FUSED) && fits_resident(); // not while a bitmap is being cleared
    in_resident = 0u;
    sweep = dirty; // the third bitmap
    dirty = 0u;
    if (fits && offers_resident != 0u) {
        state = STATE_RESIDENT;
    } else if (fits && topology == FUSED) {
        state = STATE_RESIDENT;
        in_resident = 2u; // decided, and waits for a round that has the kernel
    } else if (!pushes(topology)) {
        state = STATE_PULL;
        passes = 1u;
        dirty = 1u;
#ifdef NARROW
        walkers = 0u;
#endif
    } else {
        return queued == 0u ? STATE_GATHER : STATE_PUSH;
    }
    return STATE_DONE;
}

void log_level();

// One way through, with each step once: what is called twice is compiled twice.
void direct() {
    bool complete = false, turns_over = false, begin = false, run = false, by_host = false;
    uint left = STATE_DONE;
    if (state == STATE_START) {
        turns_over = true;
    } else if (state == STATE_PUSH || state == STATE_TILES) {
        sweep = 0u;
        if (state == STATE_PUSH && tile_count != 0u && !TILES_WALKED) {
            state = STATE_TILES;
        } else {
            processed += queued;
            complete = processed >= frontier_nodes;
            if (!complete) {
                requeued += min(frontier_nodes - processed, ~requeued); // no more than 32 bits: many passes count a node often
                left = STATE_GATHER;
            }
        }
    } else if (state == STATE_GATHER) {
        sweep = 0u;
        queued = min(gathered, hit_capacity);
        left = STATE_PUSH;
    } else if (state == STATE_PULL) {
        complete = true;
    } else if (state == STATE_RESIDENT) {
        run = in_resident == 2u; // the kernel, or the round before, decided it
#ifdef NARROW
        complete = !run;
#else
        begin = !run;
#endif
    } else if (state == STATE_FULL) {
        begin = true;
    } else if (state == STATE_ASK) {
        by_host = decided != 0u;
        begin = by_host;
    }
    if (complete) {
        log_level();
    }
    if (complete || turns_over) {
        turn_over();
        begin = true;
    }
    if (begin) {
        run = begins(by_host);
        decided = 0u;
    }
    if (run) {
        left = run_level();
    }
    if (left == STATE_GATHER) {
        gather();
    } else if (left == STATE_PUSH) {
        push();
    }
}
