// The words of the control block, which are in shared memory while a kernel runs.

void load_blocks() {
    for (uint k = 0u; k < (CONTROL_WORDS + WIDTH - 1u) / WIDTH; k++) {
        uint i = k * WIDTH + gl_LocalInvocationIndex;
        if (i < CONTROL_WORDS) {
            all_words[i] = control_block[i < STATE_AT ? i : i + READ_SLOT];
        }
    }
}

void store_blocks() {
    for (uint i = STATE_AT + gl_LocalInvocationIndex; i < CONTROL_WORDS; i += WIDTH) {
        control_block[i + WRITTEN_SLOT] = all_words[i];
    }
}
