// What the last workgroup does while the others walk: it decides too, including what the others do not need, and writes
// down the record of the level and the words of the next round.

void write_down() {
    load_blocks();
    barrier();
    uint lane = gl_LocalInvocationIndex;
    if (lane < RECORD_WORDS) { // the record is valid once the level is complete
        uint i = LEVEL_AT + lane;
        level_log[read_words[LOGGED_AT] * RECORD_WORDS + lane] = read_words[i] + (i < COUNTS_AT ? 0u : read_words[i + CONTROL_WORDS - COUNTS_AT]);
        counted[CLEARED + lane % COUNT_WORDS] = 0u;
    }
    if (lane == 0u) {
        load_words();
        direct();
        keep_words();
        if (offers_resident != 0u) {
            order_resident();
        }
    }
    barrier();
    if (lane < SLOT_WORDS) {
        control_block[STATE_AT + WRITTEN_SLOT + lane] = next_words[lane / 4u][lane % 4u];
    }
}
