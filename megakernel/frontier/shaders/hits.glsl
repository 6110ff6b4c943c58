// Hits of a workgroup: nodes marked for the next frontier are held back in shared memory and
// written to the hit buffer together. Hits that find the buffer full stay marked in the
// bitmap, from which a later pass gathers them.

shared uint staged_hits[STAGED_HITS];
shared uint staged;
shared uint staged_at;
shared uint sums[3]; // next_edges, first_edges, examined

// add_sum adds up what the invocations counted. All must call it.
void add_sum(uint which, uint value) {
#ifdef SUBGROUPS
    value = subgroupAdd(value);
    if (subgroupElect()) {
        atomicAdd(sums[which], value);
    }
#else
    atomicAdd(sums[which], value);
#endif
}

uint lane_next = 0u, lane_first = 0u, lane_examined = 0u;
uint filled; // the counts that this round fills

// begin_hits must be followed by a barrier.
void begin_hits() {
    if (gl_LocalInvocationIndex == 0u) {
        staged = 0u;
        sums[0] = 0u;
        sums[1] = 0u;
        sums[2] = 0u;
    }
}

void write_hit(uint at, uint v) {
    if (at < job.hit_capacity) {
        queue[queue_next + at] = v;
    }
    lane_next += out_degree(v);
}

// take_hits makes room for count hits of an invocation and returns where they begin.
uint take_hits(uint count) {
#ifdef SUBGROUPS
    uint all = subgroupAdd(count);
    uint before = subgroupExclusiveAdd(count);
    uint at = 0u;
    if (subgroupElect() && all != 0u) {
        at = atomicAdd(staged, all);
    }
    return subgroupBroadcastFirst(at) + before;
#else
    return count != 0u ? atomicAdd(staged, count) : 0u;
#endif
}

void put_hit(uint at, uint v) {
    if (at < STAGED_HITS) {
        staged_hits[at] = v;
    } else {
        write_hit(now.hits + atomicAdd(counted[filled].hits, 1u), v);
    }
}

// mark says whether a node whose value changed from old is new to the next frontier.
bool mark(uint v, uint old) {
    uint bit_of = 1u << (v & 31u);
#ifdef FIRST_WINS
    atomicOr(bits[bits_next + (v >> 5u)], bit_of);
    return true;
#else
    if (old == IDENTITY) {
        lane_first += out_degree(v);
    }
    return (atomicOr(bits[bits_next + (v >> 5u)], bit_of) & bit_of) == 0u;
#endif
}

// travel brings values to nodes, several at a time so that the waits for memory overlap. An
// unused entry arrives as IDENTITY, which changes nothing.
void travel(uint node[BATCH], uint arriving[BATCH]) {
    uint old[BATCH];
    bool hit[BATCH];
    for (uint i = 0u; i < BATCH; i++) {
        old[i] = arriving[i] != IDENTITY ? values[node[i]] : IDENTITY;
    }
    for (uint i = 0u; i < BATCH; i++) {
        old[i] = better(old[i], arriving[i]) ? ATOMIC_JOIN(values[node[i]], arriving[i]) : arriving[i];
    }
    uint count = 0u;
    for (uint i = 0u; i < BATCH; i++) {
        hit[i] = false;
        if (better(old[i], arriving[i])) {
            hit[i] = mark(node[i], old[i]);
        }
        count += uint(hit[i]);
    }
    uint at = take_hits(count);
    for (uint i = 0u; i < BATCH; i++) {
        if (hit[i]) {
            put_hit(at, node[i]);
            at++;
        }
    }
}

// flush_hits writes the staged hits to the hit buffer. All invocations must call it.
void flush_hits() {
    barrier();
    uint count = min(staged, STAGED_HITS);
    if (count != 0u) {
        if (gl_LocalInvocationIndex == 0u) {
            staged_at = now.hits + atomicAdd(counted[filled].hits, count);
        }
        barrier();
        for (uint i = gl_LocalInvocationIndex; i < count; i += WIDTH) {
            write_hit(staged_at + i, staged_hits[i]);
        }
        barrier();
        if (gl_LocalInvocationIndex == 0u) {
            staged = 0u;
        }
        barrier();
    }
}

// end_hits adds what the invocations counted to the totals.
void end_hits() {
    add_sum(0u, lane_next);
#ifndef FIRST_WINS
    add_sum(1u, lane_first);
#endif
    add_sum(2u, lane_examined);
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        if (sums[0] != 0u) {
            atomicAdd(counted[filled].next_edges, sums[0]);
        }
#ifdef FIRST_WINS
        if (sums[0] != 0u) {
            atomicAdd(counted[filled].first_edges, sums[0]);
        }
#else
        if (sums[1] != 0u) {
            atomicAdd(counted[filled].first_edges, sums[1]);
        }
#endif
        if (sums[2] != 0u) {
            atomicAdd(counted[filled].examined, sums[2]);
        }
    }
}
