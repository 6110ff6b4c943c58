// A round of a level. A dispatch has the same number of workgroups whatever the level, and each of them decides for
// itself what the round does, from what the round before left; the first one writes that down for the next. So there
// is nothing to wait for between the rounds but their barrier.

#ifndef RECORDED
// write_down is what the first workgroup does for the host, and for the next round.
void write_down() {
    store_blocks();
    for (uint k = 0u; k < LOADS; k++) {
        uint i = k * WIDTH + gl_LocalInvocationIndex;
        if (completed != 0u && i >= RECORD_AT && i < RECORD_AT + RECORD_WORDS) {
            level_log[(logged - 1u) * RECORD_WORDS + i - RECORD_AT] = loaded[k];
        }
    }
    if (gl_LocalInvocationIndex == WIDTH - 1u && offers_resident != 0u) {
        order_resident();
    }
}
#endif

void begin_round() {
    begin_hits();
    load_blocks();
#ifndef RECORDED
    if (gl_LocalInvocationIndex == 0u) {
        completed = 0u;
    }
    barrier();
    // What ended decides nothing any more.
    if (gl_LocalInvocationIndex == 0u && state < STATE_LEVELS) {
        load_words();
        direct();
        store_words();
    }
#endif
    barrier();
    place();
    walkers = min(push_groups, gl_NumWorkGroups.x);
#ifndef RECORDED
    if (gl_WorkGroupID.x == 0u) {
        write_down();
    }
#endif
}

void main() {
    begin_round();
    uint doing = state;
    if (doing < STATE_PUSH || doing > STATE_PULL) {
        return;
    }
    if ((sweep & 1u) != 0u) {
        clear_spare();
    }
    if (doing == STATE_PULL) {
        pull();
    } else if (doing == STATE_GATHER) {
        gather_waiting();
    } else if (gl_WorkGroupID.x < walkers) {
        if (doing == STATE_TILES) {
            push_tiles();
        } else {
            push_chunks();
        }
    }
    end_hits();
}
