// A round of a level. A dispatch has the same number of workgroups whatever the level. Each of them decides for itself what
// the round does, from what the round before left, so that only a barrier is needed between two rounds.

const uint DECIDER = min(32u, WIDTH - 1u); // in another subgroup than the invocation that does what is done once

shared Round told; // by the invocation that decides

void main() {
    uint lane = gl_LocalInvocationIndex;
    if (lane == 0u) {
        job = control_job;
        begin_hits();
        if (gl_WorkGroupID.x == 0u) {
            counted[(round + 2u) % 3u] = Counts(0u, 0u, 0u, 0u, 0u, 0u);
        }
    }
    if (lane == DECIDER) {
        load_round();
    }
    barrier();
    if (lane == DECIDER) {
        direct();
        told = now;
        if (gl_WorkGroupID.x == 0u) {
            write_round();
        }
    }
    barrier();
    now = told;
    if (now.state < STATE_PUSH || now.state > STATE_PULL) {
        return;
    }
    place(now.level);
    filled = (round + 1u) % 3u;
    uint walkers = min(job.push_groups, gl_NumWorkGroups.x);
    if (now.clears != 0u) {
        clear_spare();
    }
    if (now.state == STATE_PULL) {
        pull();
    } else if (now.state == STATE_GATHER) {
        gather_waiting();
    } else if (gl_WorkGroupID.x < walkers) {
        if (now.state == STATE_TILES) {
            push_tiles(walkers);
        } else {
            push_chunks(walkers);
        }
    }
    end_hits();
}
