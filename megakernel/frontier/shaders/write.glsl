// What the first workgroup does while the others walk: it decides too, including what the others do not need, and writes
// down the record of the level, the words of the next round and its plan. It begins first because it takes longest when
// there is little to walk.

const uint SLOT_ROWS = SLOT_WORDS / 4u;

// end_job does what direct does behind the last level.
void end_job() {
    logged++;
    turn_over(true);
    state = STATE_DONE;
    sweep = 0u;
}

void write_round() {
    load_plan(true);
    load_words();
    uint at = logged * (RECORD_WORDS / 4u); // the record is valid once the level is complete
    level_log[at] = uvec4(level, frontier_nodes, frontier_edges, unexplored);
    level_log[at + 1u] = uvec4(previous, raw, topology, in_resident);
    level_log[at + 2u] = uvec4(passes, requeued, hits, examined);
    bool sure = has_plan();
    uvec2 next = planned();
    if (sure && next.x == STATE_DONE && state != STATE_START) {
        end_job(); // nobody walks, so that the others wait for this
    } else {
        direct();
        if (sure) { // the record has what the others do
            state = next.x;
            topology = next.y;
        }
    }
    keep_words();
    write_plan();
    if (offers_resident != 0u) {
        order_resident();
    }
}

void write_down() {
    uint lane = gl_LocalInvocationIndex;
    if (lane < COUNT_WORDS) {
        counted[CLEARED + lane] = 0u;
    }
    uint from = (STATE_AT + READ_SLOT) / 4u, to = (STATE_AT + WRITTEN_SLOT) / 4u;
    uvec4 row = lane < SLOT_ROWS ? control_block[from + lane] : uvec4(0u);
    if (control_block[(PLAN_AT + READ_SLOT) / 4u].x != ENDED) {
        if (lane == 0u) {
            write_round();
        }
        return;
    }
    if (lane < SLOT_ROWS) {
        control_block[to + lane] = row;
    }
    if (lane == 0u && offers_resident != 0u) {
        fused_args[0] = 0u;
    }
}
