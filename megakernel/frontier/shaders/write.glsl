// What the first workgroup does while the others walk: it decides too, including what the others do not need, and writes
// down the record of the level, the words of the next round and its plan. It begins first because it takes longest when
// there is little to walk.

void write_round() {
    load_plan(true);
    load_words();
    uint at = logged * (RECORD_WORDS / 4u); // the record is valid once the level is complete
    level_log[at] = uvec4(level, frontier_nodes, frontier_edges, unexplored);
    level_log[at + 1u] = uvec4(previous, raw, topology, in_resident);
    level_log[at + 2u] = uvec4(passes, requeued, hits, examined);
    bool sure = has_plan();
    uvec2 next = planned();
    direct();
    if (sure) { // the record has what the others do
        state = next.x;
        topology = next.y;
    }
    keep_words();
    write_plan();
    if (offers_resident != 0u) {
        order_resident();
    }
}

uint slot_word(uint i) { return control_block[(i + READ_SLOT) / 4u][i % 4u]; }

// keep_ended keeps the words for the next round once the job has ended, or ends because the last level found nothing. Nobody
// walks then, so that the round is over when this is.
void keep_ended(bool ends) {
    for (uint i = STATE_AT + gl_LocalInvocationIndex; i < CONTROL_WORDS; i += WIDTH) {
        uint word = slot_word(i), at = slot_word(LOGGED_AT) * RECORD_WORDS + i - LEVEL_AT;
        if (ends && i >= LEVEL_AT && i < LEVEL_AT + RECORD_WORDS) {
            level_log[at / 4u][at % 4u] = word + (i < COUNTS_AT ? 0u : counted[READ_SET + max(i, COUNTS_AT) - COUNTS_AT]);
        }
        word += uint(ends && (i == LOGGED_AT || i == LEVEL_AT));
        word = i == STATE_AT && ends ? STATE_DONE : word;
        control_block[(i + WRITTEN_SLOT) / 4u][i % 4u] = i == PLAN_AT ? ENDED : word;
    }
    if (gl_LocalInvocationIndex == 0u && offers_resident != 0u) {
        fused_args[0] = 0u;
    }
}

void write_down() {
    if (gl_LocalInvocationIndex < COUNT_WORDS) {
        counted[CLEARED + gl_LocalInvocationIndex] = 0u;
    }
    uint kind = slot_word(PLAN_AT);
    bool ends = offers_resident == 0u && kind > uint(counted[READ_SET + 4u] != 0u) && kind != ENDED
        && slot_word(PLAN_AT + 13u) + counted[READ_SET] == 0u && slot_word(STATE_AT) != STATE_START;
    if (kind == ENDED || ends) {
        keep_ended(ends);
    } else if (gl_LocalInvocationIndex == 0u) {
        write_round();
    }
}
