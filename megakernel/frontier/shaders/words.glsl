// Brings the words of the control block to the invocation that decides: through shared memory, with a single wait for
// memory.

shared uint read_words[CONTROL_WORDS + SET_WORDS]; // the words, followed by what was counted

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
    subgroupMemoryBarrierShared(); // the invocation that decides is in the subgroup that loads
#else
    barrier();
#endif
}
