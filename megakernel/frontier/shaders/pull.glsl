// Pulls: every node that can still change looks for frontier nodes among its in-edges. An invocation tries the first few
// in-edges of several nodes, side by side so that the waits for memory overlap. The workgroup shares the edges left.

shared uint left_node[ROWS * WIDTH]; // nodes that have in-edges left
shared uint left_count;

bool in_frontier(uint u) { return (bits[bits_now + (u >> 5u)] >> (u & 31u) & 1u) != 0u; }

bool is_open(uint value) {
#ifdef FIRST_WINS
    return value == IDENTITY;
#else
    return true;
#endif
}

// mark_row is mark for those of a subgroup's nodes that changed. All its invocations must call it.
bool mark_row(bool changed, uint v, uint old) {
#if defined(FIRST_WINS) && defined(SUBGROUPS)
    if (gl_SubgroupSize == 32u) { // its nodes share one word of the bitmap
        uint all = subgroupBallot(changed).x;
        if (all != 0u && subgroupElect()) {
            atomicOr(bits[bits_next + (v >> 5u)], all);
        }
        return changed;
    }
#endif
    return changed && mark(v, old);
}

// try_rows looks at the first in-edges of the invocation's nodes.
void try_rows(uint first[ROWS], uint degree[ROWS], inout uint best[ROWS]) {
    bool looks[ROWS];
    for (uint k = 0u; k < ROWS; k++) {
        looks[k] = degree[k] != 0u;
    }
    for (uint i = 0u; i < PROBES; i++) {
        uint u[ROWS];
        uint looking = 0u;
        for (uint k = 0u; k < ROWS; k++) {
            looks[k] = looks[k] && i < degree[k];
            u[k] = looks[k] ? in_targets[first[k] + i] : 0u;
            looking += uint(looks[k]);
        }
        if (looking == 0u) {
            break;
        }
        lane_examined += looking;
        for (uint k = 0u; k < ROWS; k++) {
            if (looks[k] && in_frontier(u[k])) {
                best[k] = join_values(best[k], extend(FRONTIER_VALUE(u[k]), IN_WEIGHT(first[k] + i)));
#ifdef FIRST_WINS
                looks[k] = false;
#endif
            }
        }
    }
}

// pull_rows shares the in-edges of some of the nodes left, without the first few of each that were tried. If there are
// several parts, it takes one of them, and other workgroups the others; the parts depend on the degrees only, because
// all workgroups must agree on them.
void pull_rows(uint from, uint count, uint tried, uint part, uint parts) {
    uint lane = gl_LocalInvocationIndex;
    bool mine = from + lane < count;
    uint v = mine ? left_node[from + lane] : 0u;
    uint value = mine ? values[v] : 0u;
    bool open_node = mine && is_open(value);
    uint first = mine ? in_offsets[v] + tried : 0u;
    uint rest = mine ? in_offsets[v + 1u] - first : 0u;
    row_value[lane] = open_node ? value : 0u;
    uint total = share_rows(first, rest);
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
        uint old = ATOMIC_JOIN(values[v], row_value[lane]);
        if (better(old, row_value[lane]) && mark(v, old)) {
            put_hit(take_hits(1u), v);
        }
    }
    barrier();
}

// left_to_pieces says whether the nodes of a block have too many in-edges for one workgroup.
bool left_to_pieces(uint block) {
    uint first = block * WIDTH;
    return in_offsets[min(first + WIDTH, job.nodes)] - in_offsets[first] >= BLOCK_EDGES;
}

// pull_block tries the first in-edges of a block of nodes, some for each invocation, and lists the nodes that are left.
void pull_block(uint block, uint rows, bool pieces) {
    uint lane = gl_LocalInvocationIndex;
    uint begin = block * rows * WIDTH + lane;
    uint value[ROWS], first[ROWS], degree[ROWS], best[ROWS];
    for (uint k = 0u; k < ROWS; k++) {
        uint v = begin + k * WIDTH;
        value[k] = k < rows && v < job.nodes ? values[v] : 0u;
    }
    if (lane == 0u) {
        left_count = 0u;
    }
    barrier();
    for (uint k = 0u; k < ROWS; k++) {
        uint v = begin + k * WIDTH;
        bool open_node = k < rows && v < job.nodes && is_open(value[k]) && !(pieces && left_to_pieces(block * rows + k));
        first[k] = open_node ? in_offsets[v] : 0u;
        degree[k] = open_node ? in_offsets[v + 1u] - first[k] : 0u;
        best[k] = value[k];
    }
    try_rows(first, degree, best);
    bool hit[ROWS];
    uint count = 0u;
    for (uint k = 0u; k < ROWS; k++) {
        uint v = begin + k * WIDTH;
        hit[k] = degree[k] != 0u && better(value[k], best[k]);
        if (hit[k]) {
#ifdef FIRST_WINS
            values[v] = best[k]; // no other invocation writes it
#else
            value[k] = ATOMIC_JOIN(values[v], best[k]);
#endif
        }
        bool left = degree[k] > PROBES;
#ifdef FIRST_WINS
        left = left && !hit[k];
#endif
        if (left) {
            left_node[atomicAdd(left_count, 1u)] = v;
        }
        hit[k] = mark_row(hit[k], v, value[k]);
        count += uint(hit[k]);
    }
    uint at = take_hits(count);
    for (uint k = 0u; k < ROWS; k++) {
        if (hit[k]) {
            put_hit(at, begin + k * WIDTH);
            at++;
        }
    }
}

// list_block leaves all nodes of a block to the workgroup.
void list_block(uint block) {
    left_node[gl_LocalInvocationIndex] = block * WIDTH + gl_LocalInvocationIndex;
    if (gl_LocalInvocationIndex == 0u) {
        left_count = min(job.nodes - block * WIDTH, WIDTH);
    }
}

void pull() {
    uint whole = job.nodes / WIDTH + uint(job.nodes % WIDTH != 0u);
    uint rows = clamp(whole / gl_NumWorkGroups.x, 1u, ROWS); // an invocation gets several nodes only if every workgroup has a block
    uint blocks = (whole + rows - 1u) / rows, more = job.pull_blocks - whole;
    for (uint at = gl_WorkGroupID.x; at < blocks + more; at += gl_NumWorkGroups.x) {
        uvec3 piece = uvec3(0u, 0u, 1u); // the block, which part of it, and of how many
        if (at < blocks) {
            pull_block(at, rows, more != 0u);
        } else {
            piece = heavy_blocks[at - blocks].xyz;
            list_block(piece.x);
        }
        memoryBarrierShared();
        barrier();
        for (uint from = 0u; from < left_count; from += WIDTH) {
            pull_rows(from, left_count, at < blocks ? PROBES : 0u, piece.y, piece.z);
        }
        flush_hits();
    }
}
