// A round of a level. A dispatch has the same number of workgroups whatever the level, and each of them decides for
// itself what the round does, from what the round before left; the first one writes that down for the next. So there
// is nothing to wait for between the rounds but their barrier.

void begin_round() {
    begin_hits();
    load_blocks();
    barrier();
#ifndef RECORDED
    // What ended decides nothing any more.
    if (gl_LocalInvocationIndex == 0u && state < STATE_LEVELS) {
        direct();
    }
    barrier();
    if (gl_WorkGroupID.x == 0u) {
        store_blocks();
        if (gl_LocalInvocationIndex < COUNT_WORDS) {
            counted[CLEARED + gl_LocalInvocationIndex] = 0u;
        }
        if (gl_LocalInvocationIndex == WIDTH - 1u && offers_resident != 0u) {
            order_resident();
        }
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
