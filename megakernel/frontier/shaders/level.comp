// A round of a level. A dispatch has as many workgroups whatever the level, and each of them decides for
// itself what the round does, from what the round before left; the last one writes that down for the next, and
// walks nothing. So there is nothing to wait for between the rounds but their barrier.

void begin_round() {
    begin_hits();
    load_blocks();
#ifndef RECORDED
    // A second one runs through it before the words are there, and the first need not wait for the instructions then.
    if (gl_LocalInvocationIndex % (WIDTH / 2u) == 0u) {
        load_words();
        direct();
        if (gl_LocalInvocationIndex == 0u) {
            share_words();
        }
    }
#endif
    barrier();
    place();
    walkers = min(push_groups, GROUPS);
}

void main() {
    if (gl_WorkGroupID.x == GROUPS) {
#ifdef RECORDED
        if (gl_LocalInvocationIndex < COUNT_WORDS) {
            counted[CLEARED + gl_LocalInvocationIndex] = 0u;
        }
        if (gl_LocalInvocationIndex == 0u) {
            call_team();
        }
#else
        write_down();
#endif
        return;
    }
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
