// Pulls: every node that can still change looks for frontier nodes among its
// in-edges. Each invocation tries the first few of a node of its own; what they leave
// the workgroup shares.

bool in_frontier(uint u) { return (bits[bits_now + (u >> 5u)] >> (u & 31u) & 1u) != 0u; }

void settle(uint v, uint arriving) {
    uint old = ATOMIC_JOIN(values[v], arriving);
    if (better(old, arriving) && mark(v, old)) {
        put_hit(take_hits(1u), v);
    }
}

void pull_block(uint v, bool mine, uint part, uint parts) {
    uint lane = gl_LocalInvocationIndex;
    uint value = IDENTITY;
    uint first = 0u, degree = 0u;
    bool open_node = false;
    if (mine) {
        value = values[v];
#ifdef FIRST_WINS
        open_node = value == IDENTITY;
#else
        open_node = true;
#endif
    }
    if (open_node || mine && parts > 1u) {
        first = in_offsets[v];
        degree = in_offsets[v + 1u] - first;
    }
    uint best = value;
    uint probes = open_node && part == 0u ? min(degree, PROBES) : 0u;
    uint i = 0u;
    for (; i < probes; i++) {
        uint u = in_targets[first + i];
        if (in_frontier(u)) {
            best = join_values(best, extend(FRONTIER_VALUE(u), IN_WEIGHT(first + i)));
#ifdef FIRST_WINS
            i++;
            break;
#endif
        }
    }
    lane_examined += i;
    // What is left to share. Pieces of one block must agree on it, so they go by
    // degrees alone.
    uint rest = degree > PROBES ? degree - PROBES : 0u;
#ifdef FIRST_WINS
    if (parts == 1u && best != value) {
        rest = 0u;
    }
#endif
    row_value[lane] = open_node ? best : 0u;
    uint total = share_rows(first + degree - rest, rest);
    uint begin = part * (total / parts) + min(part, total % parts);
    uint end = begin + total / parts + uint(part < total % parts);
    for (uint e = begin + lane; e < end; e += WIDTH) {
        uint row = row_of(e);
#ifdef FIRST_WINS
        if (row_value[row] != IDENTITY) {
            continue;
        }
#endif
        uint edge = row_shift[row] + e;
        uint u = in_targets[edge];
        lane_examined++;
        if (in_frontier(u)) {
            ATOMIC_JOIN(row_value[row], extend(FRONTIER_VALUE(u), IN_WEIGHT(edge)));
        }
    }
    barrier();
    if (open_node && better(value, row_value[lane])) {
        settle(v, row_value[lane]);
    }
    flush_hits();
}

// left_to_pieces says whether a block has too many in-edges for one workgroup.
bool left_to_pieces(uint block) {
    uint first = block * WIDTH;
    return in_offsets[min(first + WIDTH, nodes)] - in_offsets[first] >= BLOCK_EDGES;
}

void pull() {
    uint whole = nodes / WIDTH + uint(nodes % WIDTH != 0u);
    for (uint at = gl_WorkGroupID.x; at < pull_blocks; at += gl_NumWorkGroups.x) {
        uvec3 piece = at < whole ? uvec3(at, 0u, 1u) : heavy_blocks[at - whole].xyz;
        if (at < whole && left_to_pieces(at)) {
            continue;
        }
        uint v = piece.x * WIDTH + gl_LocalInvocationIndex;
        pull_block(v, v < nodes, piece.y, piece.z);
    }
}
