// The words of the control block as they come to who decides: through shared memory, with a single wait for memory.

shared uint read_words[CONTROL_WORDS + SET_WORDS]; // the words, and behind them what was counted

void load_blocks() {
    uint lane = gl_LocalInvocationIndex;
    if (lane < STATE_AT) {
        uint kept_word = control_block[lane], slot_word = control_block[STATE_AT + READ_SLOT + lane];
        uint now = counted[READ_SET + lane % SET_WORDS];
        read_words[lane] = kept_word;
        read_words[STATE_AT + lane] = slot_word;
        read_words[CONTROL_WORDS + lane % SET_WORDS] = now;
    }
#ifdef SUBGROUPS
    subgroupMemoryBarrierShared(); // who decides is of the subgroup that loads
#else
    barrier();
#endif
}
