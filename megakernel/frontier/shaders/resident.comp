// Runs levels of few nodes one after the other in one workgroup, as long as the rule
// leaves them to it. The control block's words are in shared memory meanwhile.

const uint LONG_ROWS = 1024u;         // rows of more edges that wait for a team; others are pushed alone all the same

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

// push_level gives each of LANE_EDGES neighbouring invocations one edge of a row, so that
// they read a row, and most of what its edges lead to, together.
void push_level() {
    uint lane = gl_LocalInvocationIndex;
    uint items = queued * LANE_EDGES, from = queue_now;
    for (uint begin = lane; begin < items; begin += WIDTH * BATCH) {
        uint u[BATCH];
        uint first[BATCH];
        uint degree[BATCH];
        uint node[BATCH];
        uint arriving[BATCH];
        for (uint i = 0u; i < BATCH; i++) {
            uint item = begin + i * WIDTH;
            u[i] = queue[from + (item < items ? item : begin) / LANE_EDGES];
        }
        for (uint i = 0u; i < BATCH; i++) {
            first[i] = out_offsets[u[i]];
            degree[i] = out_offsets[u[i] + 1u];
        }
        for (uint i = 0u; i < BATCH; i++) {
            uint item = begin + i * WIDTH;
            uint nth = item % LANE_EDGES;
            degree[i] = item < items ? degree[i] - first[i] : 0u;
            if (nth == 0u && item < items) {
#ifndef FIRST_WINS
                atomicAnd(bits[bits_now + (u[i] >> 5u)], ~(1u << (u[i] & 31u)));
#endif
                if (degree[i] > LANE_EDGES) {
                    put_aside(u[i], degree[i]);
                }
            }
            bool there = degree[i] <= LANE_EDGES && nth < degree[i];
            uint edge = there ? first[i] + nth : 0u;
            node[i] = out_targets[edge];
            arriving[i] = there ? extend(FRONTIER_VALUE(u[i]), OUT_WEIGHT(edge)) : IDENTITY;
        }
        travel(node, arriving);
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
    turns += (pieces(queued * LANE_EDGES, WIDTH * BATCH) + 1u) * (8u * BATCH + 1u) + (long_count + long_edges / TEAM) * (5u * BATCH + 1u);
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
