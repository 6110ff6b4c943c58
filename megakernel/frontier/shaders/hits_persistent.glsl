// Rows and hits of the persistent kernel. Hits go directly to the hit buffer, which has room
// for all. The workgroups count them together, in one of three sets of counts: one set is
// read, one filled, and one cleared.

uint lane_next = 0u, lane_first = 0u;
uint counts = 0u; // the set that is filled
uint depth;       // the current level

#ifdef SEMIRING_BFS
#undef FRONTIER_VALUE
#define FRONTIER_VALUE(u) depth
#endif

// Row is a frontier node. If it has up to BATCH edges, it holds also the nodes to which they
// lead, what arrives there and what was there. An unused entry arrives as IDENTITY, which
// changes nothing.
struct Row {
    uint u, degree;
    uint node[BATCH];
    uint arriving[BATCH];
    uint old[BATCH];
};

// old_values reads the values of nodes. Other invocations may replace them, by better ones.
uint[BATCH] old_values(uint node[BATCH], uint arriving[BATCH]) {
    uint old[BATCH];
    for (uint i = 0u; i < BATCH; i++) {
        old[i] = arriving[i] != IDENTITY ? values[node[i]] : IDENTITY;
    }
    return old;
}

Row no_row() {
    Row r;
    r.u = 0u;
    r.degree = 0u;
    for (uint i = 0u; i < BATCH; i++) {
        r.node[i] = 0u;
        r.arriving[i] = IDENTITY;
        r.old[i] = IDENTITY;
    }
    return r;
}

Row read_row(uint u) {
    Row r;
    r.u = u;
    uint value = FRONTIER_VALUE(u);
    uint first = out_offsets[u];
    r.degree = out_offsets[u + 1u] - first;
    uint few = r.degree <= BATCH ? r.degree : 0u;
    for (uint i = 0u; i < BATCH; i++) {
        uint edge = i < few ? first + i : 0u;
        r.node[i] = out_targets[edge];
        r.arriving[i] = i < few ? extend(value, OUT_WEIGHT(edge)) : IDENTITY;
    }
    r.old = old_values(r.node, r.arriving);
    return r;
}

// take_hits makes room for count hits of an invocation and returns where they begin.
uint take_hits(uint count) {
#ifdef SUBGROUPS
    uint all = subgroupAdd(count);
    uint before = subgroupExclusiveAdd(count);
    uint at = 0u;
    if (subgroupElect() && all != 0u) {
        at = atomicAdd(team_counts[counts].y, all);
    }
    return subgroupBroadcastFirst(at) + before;
#else
    return count != 0u ? atomicAdd(team_counts[counts].y, count) : 0u;
#endif
}

// add_edges adds the edges of the hits to the counts. All invocations must call it.
void add_edges() {
    uint next = lane_next, first = lane_first;
#ifdef SUBGROUPS
    next = subgroupAdd(next);
    first = subgroupAdd(first);
    if (!subgroupElect()) {
        return;
    }
#endif
    if (next != 0u) {
        atomicAdd(team_counts[counts].z, next);
    }
    if (first != 0u) {
        atomicAdd(team_counts[counts].w, first);
    }
}

// mark says whether a node whose value changed is new to the next frontier. If the first
// arrival wins it always is, and no mark is needed.
bool mark(uint v) {
#ifdef FIRST_WINS
    return true;
#else
    uint bit_of = 1u << (v & 31u);
    return (atomicOr(bits[bits_next + (v >> 5u)], bit_of) & bit_of) == 0u;
#endif
}

// travel brings values to nodes, several at a time so that the waits for memory
// overlap.
void travel(uint node[BATCH], uint arriving[BATCH], uint old[BATCH]) {
    uint degree[BATCH];
    bool hit[BATCH];
    for (uint i = 0u; i < BATCH; i++) {
        bool wins = better(old[i], arriving[i]);
        degree[i] = wins ? out_degree(node[i]) : 0u;
        old[i] = wins ? ATOMIC_JOIN(values[node[i]], arriving[i]) : arriving[i];
    }
    uint count = 0u;
    for (uint i = 0u; i < BATCH; i++) {
        hit[i] = false;
        if (better(old[i], arriving[i])) {
#ifndef FIRST_WINS
            lane_first += old[i] == IDENTITY ? degree[i] : 0u;
#endif
            hit[i] = mark(node[i]);
        }
        lane_next += hit[i] ? degree[i] : 0u;
        count += uint(hit[i]);
    }
    uint at = take_hits(count);
    for (uint i = 0u; i < BATCH; i++) {
        if (hit[i]) {
            queue[queue_next + at] = node[i];
            at++;
        }
    }
}
