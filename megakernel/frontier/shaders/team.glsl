// The workgroups of the resident kernel, and the barrier between them. OpenGL lets a
// workgroup wait forever for one that has not begun. So those that run say so, the first
// of them closes the list, and only who is on it takes part and is waited for (Sorensen et al.,
// "Portable Inter-workgroup Barrier Synchronisation for GPUs", OOPSLA 2016).

const uint TEAM_CLOSED = 0x80000000u;
const uint JOIN_POLLS = 256u;     // looks of the first at who has come
const uint MEET_POLLS = 1u << 21; // looks at who has arrived, about a second

shared uint team_size;
shared uint team_index; // 0: the first, which writes what there is one of

// join_team says whether this workgroup takes part.
bool join_team() {
    if (gl_LocalInvocationIndex == 0u) {
        uint place = atomicAdd(team_words[TEAM_JOINED], 1u);
        uint size = 0u;
        if (place == 0u) {
            for (uint i = 0u; i < JOIN_POLLS && team_words[TEAM_JOINED] < gl_NumWorkGroups.x; i++) {
            }
            size = atomicOr(team_words[TEAM_JOINED], TEAM_CLOSED);
            atomicExchange(team_words[TEAM_SIZE], size);
        } else if (place < TEAM_CLOSED) {
            for (uint i = 0u; i < MEET_POLLS && size == 0u; i++) {
                size = team_words[TEAM_SIZE];
            }
        }
        team_size = size;
        team_index = place;
    }
    barrier();
    return team_size != 0u;
}

// all_arrive waits for the team, in one invocation, and returns a set of counts: arrivals,
// hits, their edges, and those of first hits. Fewer arrivals than the team has are a failure.
uvec4 all_arrive(uint set) {
    if (team_size > 1u) {
        atomicAdd(team_counts[set].x, 1u);
    }
    uvec4 found = team_counts[set];
    if (team_size == 1u) {
        found.x = 1u;
    }
    for (uint i = 0u; i < MEET_POLLS && found.x < team_size; i++) {
        found = team_counts[set];
    }
    return found;
}
