// The words of the control and totals blocks, in shared memory for as long as a kernel
// decides.

void load_blocks() {
    uint step_size = gl_WorkGroupSize.x;
    for (uint i = gl_LocalInvocationIndex; i < ALL_WORDS; i += step_size) {
        all_words[i] = i < CONTROL_WORDS ? control_block[i] : totals_block[i - CONTROL_WORDS];
    }
    barrier();
}

void store_blocks() {
    uint step_size = gl_WorkGroupSize.x;
    for (uint i = gl_LocalInvocationIndex; i < ALL_WORDS; i += step_size) {
        if (i < CONTROL_WORDS) {
            control_block[i] = all_words[i];
        } else {
            totals_block[i - CONTROL_WORDS] = all_words[i];
        }
    }
}
