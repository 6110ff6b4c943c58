// The words of the control block, in shared memory for as long as a kernel runs.

const uint LOADS = (CONTROL_WORDS + WIDTH - 1u) / WIDTH;

uint loaded[LOADS]; // this invocation's words

void load_blocks() {
    for (uint k = 0u; k < LOADS; k++) {
        uint i = k * WIDTH + gl_LocalInvocationIndex;
        if (i < CONTROL_WORDS) {
            loaded[k] = control_block[i < STATE_AT ? i : i + READ_SLOT];
#ifdef READ_SET
            if (i >= COUNTS_AT) {
                uint which = (i - COUNTS_AT) % COUNT_WORDS, seen = SEEN_AT + READ_SET * COUNT_WORDS + which;
                uint now = counted[READ_SET * SET_WORDS + which];
                if (i < SEEN_AT) {
                    loaded[k] += now - control_block[seen + READ_SLOT];
                } else if (i == seen) {
                    loaded[k] = now;
                }
            }
#endif
            all_words[i] = loaded[k];
        }
    }
}

void store_blocks() {
    for (uint i = STATE_AT + gl_LocalInvocationIndex; i < CONTROL_WORDS; i += WIDTH) {
        control_block[i + WRITTEN_SLOT] = all_words[i];
    }
}
