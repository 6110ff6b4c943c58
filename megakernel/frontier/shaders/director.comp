// The director: closes the round before, decides the next one, and writes the
// group counts of its dispatches.

uniform uint offers_resident; // 1: the resident kernel is in this round

// walk orders workgroups that push, and those behind them that clear.
void walk(uint groups) {
    walkers = groups;
    push_args[0] = groups + (sweep != 0u ? pieces(bit_words, WIDTH) : 0u);
}

void gather() {
    state = STATE_GATHER;
    gathered = 0u;
    sweep |= 2u;
    push_args[0] = pieces(bit_words, WIDTH);
}

void push() {
    state = STATE_PUSH;
    passes++;
#ifdef NARROW
    uint groups = clamp(push_groups, pieces(queued, WIDTH * NARROW_MOST), pieces(queued, WIDTH * NARROW_ROWS));
    uint most = LOOP_BUDGET / pieces(queued, groups * WIDTH) - 4u;
    heavy = min(most, topology == HYBRID ? hybrid_degree : 2u * LEAST_HEAVY);
#else
    // Enough workgroups for the device, and enough edges for a workgroup.
    uint wanted = clamp(frontier_edges / PUSH_GROUPS_GOAL, 4u * WIDTH, 32u * WIDTH);
    chunk_nodes = clamp(wanted / max(frontier_edges / frontier_nodes, 1u), 1u, WIDTH);
    uint chunks = pieces(queued, chunk_nodes);
    // The largest chunk must fit the loop budget as often as a workgroup takes one.
    uint groups = clamp(push_groups, pieces(chunks, 128u), chunks);
    uint most = LOOP_BUDGET / pieces(chunks, groups) - CHUNK_TURNS;
    heavy = min(max(most, LEAST_HEAVY), topology == HYBRID ? hybrid_degree : SPARSE_DEGREE);
#endif
    tile_count = 0u;
    walk(groups);
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

// run_level orders the dispatches of a level that was decided, and returns the state of
// those that are left to order.
uint run_level() {
    bool fits = fits_resident(); // not while a bitmap is being cleared
    in_resident = 0u;
    sweep = dirty; // the third bitmap
    dirty = 0u;
    if (fits && offers_resident != 0u) {
        state = STATE_RESIDENT;
        fused_args[0] = RESIDENT_GROUPS;
        totals_block[TOTAL_WORDS + TEAM_JOINED] = 0u;
        totals_block[TOTAL_WORDS + TEAM_SIZE] = 0u;
        for (uint i = 0u; i < 3u; i++) {
            team_counts[i] = uvec4(0u);
        }
    } else if (fits && topology == FUSED) {
        state = STATE_RESIDENT;
        in_resident = 2u; // decided, and waits for a round that has the kernel
    } else if (!pushes(topology)) {
        state = STATE_PULL;
        passes = 1u;
        dirty = 1u;
        walk(0u);
        pull_args[0] = pull_groups;
    } else {
        return queued == 0u ? STATE_GATHER : STATE_PUSH;
    }
    return STATE_DONE;
}

// One way through, with each step once: what is called twice is compiled twice.
void direct() {
    no_groups();
    bool complete = false, turns_over = false, begin = false, run = false, by_host = false;
    uint left = STATE_DONE;
    if (state == STATE_START) {
        turns_over = true;
    } else if (state == STATE_PUSH || state == STATE_TILES) {
        sweep = 0u;
        if (state == STATE_PUSH && tile_count != 0u) {
            state = STATE_TILES;
            walk(min(pieces(tile_count, TILES_A_GROUP), tile_groups));
        } else {
            processed += queued;
            complete = processed >= frontier_nodes;
            if (!complete) {
                requeued += frontier_nodes - processed;
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
        begin = !run;
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

void main() {
    load_words();
    // What ended orders nothing any more.
    if (state < STATE_LEVELS) {
        direct();
        store_words();
    }
}
