// Runs levels of few nodes one after the other in a team of workgroups, as long as the rule
// allows it. Every workgroup has the words of the control block in shared memory. One of its
// invocations decides the next level, all from the same counts, while the others already read
// what that level will need.

const uint LONG_ROWS = 1024u; // most rows of more than BATCH edges that wait for TEAM lanes each; others are pushed by one
const uint DECIDER = WIDTH - TEAM; // the invocation that decides; few frontiers are so large that it has a node of its own

shared uint long_rows[LONG_ROWS];
shared uint long_count, long_edges;
shared uint goes_on;
shared uint ahead_count, ahead_from; // number and place of the next frontier's nodes, while it is being decided

// first_place spreads a frontier over the team in pieces of TEAM nodes.
uint first_place() {
    uint lane = gl_LocalInvocationIndex;
    return (lane / TEAM * team_size + team_index) * TEAM + lane % TEAM;
}

// look_ahead reads the invocation's first node of a frontier.
Row look_ahead(uint count, uint from) {
    uint at = first_place();
    if (at < count) {
        return read_row(queue[from + at]);
    }
    return no_row();
}

void push_long(uint u, uint from, uint step_size) {
    uint value = FRONTIER_VALUE(u);
    uint end = out_offsets[u + 1u];
    for (uint edge = out_offsets[u] + from; edge < end; edge += step_size * BATCH) {
        uint node[BATCH];
        uint arriving[BATCH];
        for (uint i = 0u; i < BATCH; i++) {
            bool there = edge + i * step_size < end;
            uint at_edge = there ? edge + i * step_size : edge;
            node[i] = out_targets[at_edge];
            arriving[i] = there ? extend(value, OUT_WEIGHT(at_edge)) : IDENTITY;
        }
        travel(node, arriving, old_values(node, arriving));
    }
}

void put_aside(uint u, uint degree) {
    uint place = atomicAdd(long_count, 1u);
    atomicAdd(long_edges, degree);
    if (place < LONG_ROWS) {
        long_rows[place] = u;
    } else {
        push_long(u, 0u, 1u);
    }
}

void push_level(Row row) {
    uint lane = gl_LocalInvocationIndex;
    uint count = queued, from = queue_now, first_at = first_place();
    for (uint at = first_at; at < count; at += WIDTH * team_size) {
        if (at != first_at) {
            row = read_row(queue[from + at]);
        }
#ifndef FIRST_WINS
        atomicAnd(bits[bits_now + (row.u >> 5u)], ~(1u << (row.u & 31u)));
#endif
        if (row.degree > BATCH) {
            put_aside(row.u, row.degree);
        }
        travel(row.node, row.arriving, row.old);
    }
    barrier();
    uint rows = min(long_count, LONG_ROWS);
    for (uint at = lane / TEAM; at < rows; at += WIDTH / TEAM) {
        push_long(long_rows[at], lane % TEAM, TEAM);
    }
}

// meet waits until the whole team has finished the level, and takes the counts.
void meet() {
    memoryBarrierBuffer();
    barrier();
    if (gl_LocalInvocationIndex == DECIDER) {
        uvec4 found = all_arrive(counts);
        if (found.x < team_size) {
            state = STATE_STUCK;
        }
        hits = found.y;
        next_edges = found.z;
#ifdef FIRST_WINS
        first_edges = found.z;
#else
        first_edges = found.w;
#endif
        ahead_count = hits;
        ahead_from = queue_next;
    }
    barrier();
}

// end_level runs in one invocation.
void end_level() {
    if (team_index == 0u) {
        team_counts[(counts + 2u) % 3u] = uvec4(0u); // all had read them before this meeting
    }
#ifndef RECORDED
    if (team_index == 0u) {
        log_level();
    }
    logged++;
#endif
    // A driver may unroll small loops; they are counted as if it did not.
    turns += (pieces(queued, WIDTH) + 1u) * (8u * BATCH + 1u) + (long_count + long_edges / TEAM) * (5u * BATCH + 1u);
    if (long_count > LONG_ROWS) {
        turns += long_edges * (5u * BATCH + 1u);
    }
    turn_over(true);
#ifdef RECORDED
    bool stop = state == STATE_STUCK || level >= max_levels; // the level at which the recorded team stopped
#else
    bool stop = state == STATE_STUCK || frontier_nodes == 0u || level >= max_levels || logged >= LOG_RECORDS
        || turns > RESIDENT_TURNS || host_decides != 0u;
    if (!stop) {
        choose(true, false);
        if (!fits_resident()) {
            in_resident = 2u;
            stop = true;
        }
    }
#endif
    passes = uint(!stop);
    long_count = 0u;
    long_edges = 0u;
    goes_on = uint(!stop);
}

// mark_frontier sets or clears the marks of the current frontier. If the first arrival wins,
// the levels between need none, because no node is a hit twice.
void mark_frontier(bool set) {
#ifdef FIRST_WINS
    for (uint at = first_place(); at < queued; at += WIDTH * team_size) {
        uint u = queue[queue_now + at];
        uint bit_of = 1u << (u & 31u);
        if (set) {
            atomicOr(bits[bits_now + (u >> 5u)], bit_of);
        } else {
            atomicAnd(bits[bits_now + (u >> 5u)], ~bit_of);
        }
    }
#endif
}

void main() {
    if (!join_team()) {
        return;
    }
    load_blocks();
    barrier();
    if (gl_LocalInvocationIndex == DECIDER) {
        place();
        in_resident = 1u;
        turns = 0u;
        passes = 1u;
        long_count = 0u;
        long_edges = 0u;
        goes_on = 1u;
    }
    barrier();
    mark_frontier(false);
    depth = level;
    Row row = look_ahead(queued, queue_now);
    while (goes_on != 0u) {
        lane_next = 0u;
        lane_first = 0u;
        push_level(row);
        add_edges();
        meet();
        depth++;
        row = look_ahead(ahead_count, ahead_from);
        if (gl_LocalInvocationIndex == DECIDER) {
            end_level();
        }
        counts = (counts + 1u) % 3u;
        barrier();
    }
    mark_frontier(true);
    if (team_index == 0u) {
        store_blocks();
    }
}
