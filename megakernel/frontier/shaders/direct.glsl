// What the director does before a round: it closes the round before, and decides what the next one does. It is run by
// one invocation, which takes longer to follow branches than to compute everything and to pick.

#ifdef NARROW
#define offers_resident uint(turns <= RESIDENT_TURNS)
const bool WALKS_ITSELF = true; // tiles are pushed right after their push, and small levels at once
bool walks_itself() { return state == STATE_RESIDENT && in_resident == 0u; }
#else
const bool WALKS_ITSELF = false;
uniform uint offers_resident; // 1: the resident kernel is in this round
#endif

// begins_in is the state in which a level begins once it was decided.
uint begins_in() {
    bool fits = fits_resident() && (offers_resident != 0u || topology == FUSED);
    return pick(fits, STATE_RESIDENT, pick(!pushes(topology), STATE_PULL, pick(queued == 0u, STATE_GATHER, STATE_PUSH)));
}

// stops_in is the state in which the job waits or ends before the current level, or START if it goes on.
uint stops_in(bool by_host) {
    uint stop = pick(host_decides != 0u && !by_host, STATE_ASK, STATE_START);
    stop = pick(logged >= LOG_RECORDS, STATE_FULL, stop);
    stop = pick(level >= max_levels, STATE_LEVELS, stop);
    return pick(frontier_nodes == 0u, STATE_DONE, stop);
}

#ifdef NARROW
// share_out sets how many workgroups push, and from which out-degree on they cut rows.
void share_out() {
    uint pushed = clamp(push_groups, pieces(queued, WIDTH * NARROW_MOST), pieces(queued, WIDTH * NARROW_ROWS));
    walkers = pick(state == STATE_PUSH, pushed, 0u);
    uint most = LOOP_BUDGET / pieces(max(queued, 1u), max(walkers, 1u) * WIDTH) - 4u;
    heavy = pick(state == STATE_PUSH, min(most, pick(topology == HYBRID, hybrid_degree, 2u * LEAST_HEAVY)), heavy);
}
#endif

void direct() {
    // The round before.
    bool tiles_left = state == STATE_PUSH && tile_count != 0u && !WALKS_ITSELF;
    bool passed = (state == STATE_PUSH || state == STATE_TILES) && !tiles_left;
    processed += pick(passed, queued, 0u);
    bool was_decided = state == STATE_RESIDENT && in_resident == 2u; // by the resident kernel, or in the round before
    bool walked = state == STATE_RESIDENT && !was_decided;
    bool complete = state == STATE_PULL || (passed && processed >= frontier_nodes) || (walked && WALKS_ITSELF);
    bool some_wait = passed && !complete;
    requeued += pick(some_wait, min(frontier_nodes - processed, ~requeued), 0u); // saturates: every pass counts a waiting node again
    bool was_gathered = state == STATE_GATHER;
    queued = pick(was_gathered, min(gathered, hit_capacity), queued);
    logged += uint(complete);
    turn_over(complete || state == STATE_START);

    // The current level.
    bool by_host = state == STATE_ASK && decided != 0u;
    bool asks = complete || by_host || state == STATE_START || state == STATE_FULL || walked;
    uint stop = stops_in(by_host);
    bool chosen = asks && stop == STATE_START;
    choose(chosen, by_host);
    decided = pick(asks, 0u, decided);

    // The next round.
    bool begins = chosen || was_decided;
    uint begun = begins_in();
    sweep = pick(begins, dirty, 0u); // the third bitmap
    dirty = pick(begins, uint(begun == STATE_PULL), dirty);
    bool waits = begun == STATE_RESIDENT && offers_resident == 0u; // for a round that has the resident kernel
    in_resident = pick(begins, pick(waits, 2u, 0u), in_resident);
    uint next = pick(tiles_left, STATE_TILES, pick(some_wait, STATE_GATHER, pick(was_gathered, STATE_PUSH, state)));
    state = pick(begins, begun, pick(asks, stop, next));
    bool gathers = state == STATE_GATHER, pushes_now = state == STATE_PUSH;
    sweep |= pick(gathers, 2u, 0u);
    gathered = pick(gathers, 0u, gathered);
    passes = pick(state == STATE_PULL, 1u, passes + uint(pushes_now));
    tile_count = pick(pushes_now, 0u, tile_count);
#ifdef NARROW
    share_out();
#endif
}
