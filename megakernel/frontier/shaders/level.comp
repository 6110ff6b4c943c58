// A round of a level. A dispatch has the same number of workgroups whatever the level. Each of them decides for itself
// what the round does, from what the round before left. The last workgroup walks nothing; it writes the decision down
// for the next round. So only a barrier is needed between two rounds.

void begin_round() {
    begin_hits();
    load_blocks();
#ifndef RECORDED
    // A second invocation, of another subgroup, runs this code before the words have arrived. That loads the
    // instructions, for which the first one then need not wait.
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
