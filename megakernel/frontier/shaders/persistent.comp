// Runs levels of few nodes one after the other in a team of workgroups, as long as the rule
// allows it. One invocation of each workgroup decides the next level, all from the same counts,
// while the others already read what that level will need.

const uint LONG_ROWS = 1024u; // most rows of more than BATCH edges that wait for TEAM lanes each; others are pushed by one
const uint DECIDER = WIDTH - TEAM; // the invocation that decides; few frontiers are so large that it has a node of its own

uniform uint round;

shared uint long_rows[LONG_ROWS];
shared uint long_count, long_edges;
shared uint goes_on;
shared uint next_count; // nodes of the next frontier, while it is being decided

uint turns = 0u; // loop iterations that the deciding invocation has counted

// first_place spreads a frontier over the team in pieces of TEAM nodes.
uint first_place() {
    uint lane = gl_LocalInvocationIndex;
    return (lane / TEAM * team_size + team_index) * TEAM + lane % TEAM;
}

// look_ahead reads the invocation's first node of the current frontier.
Row look_ahead(uint count) {
    uint at = first_place();
    if (at < count) {
        return read_row(queue[queue_now + at]);
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
    uint at = atomicAdd(long_count, 1u);
    atomicAdd(long_edges, degree);
    if (at < LONG_ROWS) {
        long_rows[at] = u;
    } else {
        push_long(u, 0u, 1u);
    }
}

void push_level(Row row, uint count) {
    uint lane = gl_LocalInvocationIndex, first_at = first_place();
    for (uint at = first_at; at < count; at += WIDTH * team_size) {
        if (at != first_at) {
            row = read_row(queue[queue_now + at]);
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
            now.state = STATE_STUCK;
        }
        now.hits = found.y;
        now.next_edges = found.z;
#ifdef FIRST_WINS
        now.first_edges = found.z;
#else
        now.first_edges = found.w;
#endif
        next_count = found.y;
    }
    barrier();
}

// end_level closes the level and begins the next one, if that one runs here too. One invocation runs it.
void end_level(uint count) {
    if (team_index == 0u) {
        team_counts[(counts + 2u) % 3u] = uvec4(0u); // all had read them before this meeting
        log_level();
    }
    now.logged++;
    // A driver may unroll small loops; they are counted as if it did not.
    turns += (pieces(count, WIDTH) + 1u) * (8u * BATCH + 1u) + (long_count + long_edges / TEAM) * (5u * BATCH + 1u);
    if (long_count > LONG_ROWS) {
        turns += long_edges * (5u * BATCH + 1u);
    }
    long_count = 0u;
    long_edges = 0u;
    turn_over();
    bool stop = now.state == STATE_STUCK || now.frontier_nodes == 0u || now.level >= job.max_levels
        || now.logged >= LOG_RECORDS || turns > job.persistent_turns || job.host_decides != 0u;
    if (!stop) {
        choose(false);
        if (!fits_persistent()) {
            now.persistent = CHOSEN;
            stop = true;
        }
    }
    now.passes = uint(!stop);
    goes_on = uint(!stop);
}

// mark_frontier sets or clears the marks of the current frontier. If the first arrival wins,
// the levels between need none, because no node is a hit twice.
void mark_frontier(bool set, uint count) {
#ifdef FIRST_WINS
    for (uint at = first_place(); at < count; at += WIDTH * team_size) {
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
    uint slot = (round + 1u) % 3u; // what the level kernel of this round has written
    now = rounds[slot];
    now.persistent = RAN;
    now.passes = 1u;
    if (gl_LocalInvocationIndex == DECIDER) {
        job = control_job;
        long_count = 0u;
        long_edges = 0u;
    }
    barrier();
    depth = now.level;
    place(depth);
    uint count = now.queued;
    mark_frontier(false, count);
    Row row = look_ahead(count);
    do {
        lane_next = 0u;
        lane_first = 0u;
        push_level(row, count);
        add_edges();
        meet();
        uint before = count;
        depth++;
        place(depth);
        count = next_count;
        row = look_ahead(count);
        if (gl_LocalInvocationIndex == DECIDER) {
            end_level(before);
        }
        counts = (counts + 1u) % 3u;
        barrier();
    } while (goes_on != 0u);
    mark_frontier(true, count);
    if (team_index == 0u && gl_LocalInvocationIndex == DECIDER) {
        rounds[slot] = now;
    }
}
