// Runs levels of few nodes one after the other in one workgroup, as long as the rule
// leaves them to it. The control block's words are in shared memory meanwhile.

layout(local_size_x = WIDTH) in;

const uint LANE_EDGES = 4u;   // rows up to this are pushed by one invocation
const uint TEAM = 32u;        // longer ones by so many together
const uint LONG_ROWS = 1024u; // most of them that wait; others are pushed by one invocation all the same

shared uint long_rows[LONG_ROWS];
shared uint long_count, long_edges;
shared uint goes_on;

void push_short(uint first, uint degree, uint value) {
    uint node[LANE_EDGES];
    uint old[LANE_EDGES];
    for (uint i = 0u; i < LANE_EDGES; i++) {
        node[i] = out_targets[first + min(i, degree - 1u)];
    }
    for (uint i = 0u; i < LANE_EDGES; i++) {
        old[i] = values[node[i]];
    }
    for (uint i = 0u; i < LANE_EDGES; i++) {
        uint arriving = extend(value, OUT_WEIGHT(first + min(i, degree - 1u)));
        if (i < degree && better(old[i], arriving)) {
            travel(node[i], arriving);
        }
    }
}

void push_long(uint u, uint from, uint step_size) {
    uint value = values[u];
    uint end = out_offsets[u + 1u];
    for (uint edge = out_offsets[u] + from; edge < end; edge += step_size) {
        travel(out_targets[edge], extend(value, OUT_WEIGHT(edge)));
    }
}

void push_level() {
    uint lane = gl_LocalInvocationIndex;
    uint count = queued, from = queue_now, marks = bits_now;
    for (uint at = lane; at < count; at += WIDTH) {
        uint u = queue[from + at];
        atomicAnd(bits[marks + (u >> 5u)], ~(1u << (u & 31u)));
        uint first = out_offsets[u];
        uint degree = out_offsets[u + 1u] - first;
        if (degree > LANE_EDGES) {
            uint place = atomicAdd(long_count, 1u);
            atomicAdd(long_edges, degree);
            if (place < LONG_ROWS) {
                long_rows[place] = u;
            } else {
                push_long(u, 0u, 1u);
            }
        } else if (degree > 0u) {
            push_short(first, degree, values[u]);
        }
    }
    barrier();
    uint rows = min(long_count, LONG_ROWS);
    for (uint row = lane / TEAM; row < rows; row += WIDTH / TEAM) {
        push_long(long_rows[row], lane % TEAM, TEAM);
    }
}

// end_level runs in one invocation.
void end_level() {
    turns += 8u + pieces(queued, WIDTH) * 2u + long_count + long_edges / TEAM;
    if (long_count > LONG_ROWS) {
        turns += long_edges;
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

void main() {
    uint lane = gl_LocalInvocationIndex;
    if (lane == 0u) {
        load_blocks();
        in_resident = 1u;
        turns = 0u;
        passes = 1u;
        goes_on = 1u;
    }
    barrier();
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
        memoryBarrierBuffer();
        barrier();
        if (lane == 0u) {
            end_level();
        }
        barrier();
    }
    if (lane == 0u) {
        store_blocks();
    }
}
