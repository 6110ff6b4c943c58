// The workgroups of the persistent kernel, and the barrier between them. In OpenGL a
// workgroup may wait for ever for one that has not begun. So those that run enter a list, the
// first of them closes it, and only those on the list take part and are waited for (Sorensen
// et al., "Portable Inter-workgroup Barrier Synchronisation for GPUs", OOPSLA 2016).

const uint TEAM_CLOSED = 0x80000000u;
const uint JOIN_POLLS = 256u;     // how often the first looks at the list before it closes it
const uint MEET_POLLS = 1u << 21; // how often a workgroup looks for the others, about a second

shared uint team_size;
shared uint team_index; // 0: the first, which writes on behalf of the team

// join_team says whether this workgroup takes part.
bool join_team() {
    if (gl_LocalInvocationIndex == 0u) {
        uint place = atomicAdd(team_joined, 1u);
        uint size = 0u;
        if (place == 0u) {
            for (uint i = 0u; i < JOIN_POLLS && team_joined < gl_NumWorkGroups.x; i++) {
            }
            size = atomicOr(team_joined, TEAM_CLOSED);
            atomicExchange(team_agreed, size);
        } else if (place < TEAM_CLOSED) {
            for (uint i = 0u; i < MEET_POLLS && size == 0u; i++) {
                size = team_agreed;
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
