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

void run_level() {
    bool stays = offers_resident != 0u && fits_resident(); // not while a bitmap is being cleared
    in_resident = 0u;
    sweep = dirty; // the third bitmap
    dirty = 0u;
    if (stays) {
        state = STATE_RESIDENT;
        fused_args[0] = 1u;
    } else if (!pushes(topology)) {
        state = STATE_PULL;
        passes = 1u;
        dirty = 1u;
        walk(0u);
        pull_args[0] = pull_groups;
    } else if (queued == 0u) {
        gather();
    } else {
        push();
    }
}

// next_level begins the level that was turned over, if there is one.
void next_level(bool by_host) {
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
        run_level();
    }
}

void complete() {
    log_level();
    turn_over();
    next_level(false);
}

void direct() {
    no_groups();
    switch (state) {
    case STATE_START:
        turn_over();
        next_level(false);
        break;
    case STATE_PUSH:
        sweep = 0u;
        if (tile_count != 0u) {
            state = STATE_TILES;
            walk(min(pieces(tile_count, TILES_A_GROUP), tile_groups));
            break;
        }
        // fall through
    case STATE_TILES:
        processed += queued;
        if (processed < frontier_nodes) {
            requeued += frontier_nodes - processed;
            sweep = 0u;
            gather();
        } else {
            complete();
        }
        break;
    case STATE_GATHER:
        sweep = 0u;
        queued = min(gathered, hit_capacity);
        push();
        break;
    case STATE_PULL:
        complete();
        break;
    case STATE_RESIDENT:
        // The resident kernel turned the level over; nothing is decided if it ended for another reason.
        if (in_resident == 2u) {
            run_level();
        } else {
            next_level(false);
        }
        break;
    case STATE_FULL:
        next_level(false);
        break;
    case STATE_ASK:
        if (decided != 0u) {
            next_level(true);
            decided = 0u;
        }
        break;
    }
}

void main() {
    load_blocks();
    if (gl_LocalInvocationIndex == 0u) {
        direct();
    }
    barrier();
    store_blocks();
}
