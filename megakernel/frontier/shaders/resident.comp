// Runs levels of few nodes one after the other in one workgroup, as long as the rule
// leaves them to it. The control block's words are in shared memory meanwhile.

const uint LONG_ROWS = 1024u; // rows of more than BATCH edges that wait for a team; more are pushed alone

shared uint long_rows[LONG_ROWS];
shared uint long_count, long_edges;
shared uint goes_on;

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
        travel(node, arriving);
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

void push_short(uint u, uint first, uint degree) {
    uint node[BATCH];
    uint arriving[BATCH];
    for (uint i = 0u; i < BATCH; i++) {
        uint edge = i < degree ? first + i : 0u;
        node[i] = out_targets[edge];
        arriving[i] = i < degree ? extend(FRONTIER_VALUE(u), OUT_WEIGHT(edge)) : IDENTITY;
    }
    travel(node, arriving);
}

void push_level() {
    uint lane = gl_LocalInvocationIndex;
    uint count = queued, from = queue_now;
    for (uint at = lane; at < count; at += WIDTH) {
        uint u = queue[from + at];
        uint first = out_offsets[u];
        uint degree = out_offsets[u + 1u] - first;
#ifndef FIRST_WINS
        atomicAnd(bits[bits_now + (u >> 5u)], ~(1u << (u & 31u)));
#endif
        if (degree > BATCH) {
            put_aside(u, degree);
            degree = 0u;
        }
        push_short(u, first, degree);
    }
    barrier();
    uint rows = min(long_count, LONG_ROWS);
    for (uint row = lane / TEAM; row < rows; row += WIDTH / TEAM) {
        push_long(long_rows[row], lane % TEAM, TEAM);
    }
}

// end_level runs in one invocation.
void end_level() {
    // Small loops may be unrolled or not: count them as if not.
    turns += (pieces(queued, WIDTH) + 1u) * (8u * BATCH + 1u) + (long_count + long_edges / TEAM) * (5u * BATCH + 1u);
    if (long_count > LONG_ROWS) {
        turns += long_edges * (5u * BATCH + 1u);
    }
    log_level();
    turn_over();
    bool stop = frontier_nodes == 0u || level >= max_levels || logged >= LOG_RECORDS
        || turns > RESIDENT_TURNS || host_decides != 0u;
    if (!stop) {
        choose(false);
        if (!fits_resident()) {
            in_resident = 2u;
            stop = true;
        }
    }
    goes_on = uint(!stop);
}

// mark_frontier sets or clears the marks of the current frontier. Levels of which
// the first arrival wins need none between, as nothing is a hit twice.
void mark_frontier(bool set) {
#ifdef FIRST_WINS
    for (uint at = gl_LocalInvocationIndex; at < queued; at += WIDTH) {
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
    uint lane = gl_LocalInvocationIndex;
    load_blocks();
    if (lane == 0u) {
        in_resident = 1u;
        turns = 0u;
        goes_on = 1u;
    }
    barrier();
    mark_frontier(false);
    while (goes_on != 0u) {
        if (lane == 0u) {
            passes = 1u;
            long_count = 0u;
            long_edges = 0u;
        }
        begin_hits();
        lane_next = 0u;
        lane_first = 0u;
        push_level();
        end_hits();
        groupMemoryBarrier(); // all readers are in this workgroup
        barrier();
        if (lane == 0u) {
            end_level();
        }
        barrier();
    }
    mark_frontier(true);
    store_blocks();
}
