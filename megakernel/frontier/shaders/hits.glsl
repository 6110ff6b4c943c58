// Hits of a workgroup: nodes marked for the next frontier are held back in shared
// memory and written to the hit buffer together. What finds the buffer full
// stays marked in the bitmap, from where a later pass gathers it.

#ifndef RESIDENT
shared uint staged_hits[STAGED_HITS];
shared uint staged;
shared uint staged_at;
#endif
shared uint sums[3]; // next_edges, first_edges, examined

// add_sum adds up what the invocations counted. All call it.
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

// COUNT_HIT is atomicAdd(counter, 1), by one invocation for the subgroup where there are such.
#ifdef SUBGROUPS
#define COUNT_HIT(at, counter) \
    uint at = 0u; \
    { \
        uvec4 hitting = subgroupBallot(true); \
        if (subgroupElect()) { \
            at = atomicAdd(counter, subgroupBallotBitCount(hitting)); \
        } \
        at = subgroupBroadcastFirst(at) + subgroupBallotExclusiveBitCount(hitting); \
    }
#else
#define COUNT_HIT(at, counter) uint at = atomicAdd(counter, 1u);
#endif

uint lane_next = 0u, lane_first = 0u, lane_examined = 0u;

uint out_degree(uint v) { return out_offsets[v + 1u] - out_offsets[v]; }

void begin_hits() {
    if (gl_LocalInvocationIndex == 0u) {
#ifndef RESIDENT
        staged = 0u;
#endif
        sums[0] = 0u;
        sums[1] = 0u;
        sums[2] = 0u;
    }
    barrier();
}

void write_hit(uint at, uint v) {
    if (at < hit_capacity) {
        queue[queue_next + at] = v;
    }
    lane_next += out_degree(v);
}

// hit takes a node that was just marked.
void hit(uint v) {
#ifdef RESIDENT
    COUNT_HIT(at, hits)
    write_hit(at, v);
#else
    COUNT_HIT(at, staged)
    if (at < STAGED_HITS) {
        staged_hits[at] = v;
    } else {
        write_hit(atomicAdd(hits, 1u), v);
    }
#endif
}

// mark_hit takes a node whose value changed from old.
void mark_hit(uint v, uint old) {
#ifndef FIRST_WINS
    if (old == IDENTITY) {
        lane_first += out_degree(v);
    }
#endif
    uint mark = 1u << (v & 31u);
#ifdef FIRST_WINS
    atomicOr(bits[bits_next + (v >> 5u)], mark);
    hit(v);
#else
    if ((atomicOr(bits[bits_next + (v >> 5u)], mark) & mark) == 0u) {
        hit(v);
    }
#endif
}

// travel brings a value to a node.
void travel(uint v, uint arriving) {
    if (better(values[v], arriving)) {
        uint old = ATOMIC_JOIN(values[v], arriving);
        if (better(old, arriving)) {
            mark_hit(v, old);
        }
    }
}

#ifndef RESIDENT
// flush_hits empties the staging. All invocations call it.
void flush_hits() {
    barrier();
    uint count = min(staged, STAGED_HITS);
    if (count != 0u) {
        if (gl_LocalInvocationIndex == 0u) {
            staged_at = atomicAdd(hits, count);
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
#endif

// end_hits adds what the invocations counted to the totals.
void end_hits() {
    add_sum(0u, lane_next);
#ifndef FIRST_WINS
    add_sum(1u, lane_first);
#endif
#ifdef COUNTS_EXAMINED
    add_sum(2u, lane_examined);
#endif
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        if (sums[0] != 0u) {
            atomicAdd(next_edges, sums[0]);
        }
#ifdef FIRST_WINS
        if (sums[0] != 0u) {
            atomicAdd(first_edges, sums[0]);
        }
#else
        if (sums[1] != 0u) {
            atomicAdd(first_edges, sums[1]);
        }
#endif
        if (sums[2] != 0u) {
            atomicAdd(examined, sums[2]);
        }
    }
}
