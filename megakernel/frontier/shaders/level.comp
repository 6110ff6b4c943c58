// A round of a level. A dispatch has the same number of workgroups whatever the level. Each of them decides for itself
// what the round does, from what the round before left. The first workgroup walks nothing; it writes the decision down
// for the next round. So only a barrier is needed between two rounds.

const uint DECIDER = min(32u, WIDTH - 1u); // in another subgroup than the invocation that does what is done once
const uint AHEAD = (DECIDER + 128u) % WIDTH; // goes ahead without waiting for the plan, so that the instructions are there

void begin_round() {
    begin_hits();
#ifdef RECORDED
    load_blocks();
#else
    bool decides = gl_LocalInvocationIndex == DECIDER;
    if (decides || gl_LocalInvocationIndex == AHEAD) {
        load_plan(decides);
        if (decides && !has_plan()) {
            load_words();
            direct();
        } else {
            follow_plan();
        }
        if (decides) {
            share_words();
        }
    }
#endif
    barrier();
    place();
    walkers = min(push_groups, GROUPS);
}

void main() {
    if (gl_WorkGroupID.x == 0u) {
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
    } else if (GROUP < walkers) {
        if (doing == STATE_TILES) {
            push_tiles();
        } else {
            push_chunks();
        }
    }
    end_hits();
}
