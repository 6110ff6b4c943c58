// Hits where invocations are the lanes of a processor's vectors. There a barrier costs more
// than a shared buffer saves, so that every invocation writes its own hits.

uint lane_next = 0u, lane_first = 0u, lane_examined = 0u;

uint out_degree(uint v) { return out_offsets[v + 1u] - out_offsets[v]; }

void write_hit(uint at, uint v) {
    if (at < hit_capacity) {
        queue[queue_next + at] = v;
    }
#ifndef WALKS
    lane_next += out_degree(v);
#endif
}

// leave takes a node out of the current frontier. If the first arrival wins, the levels that the director walks need no
// marks of their frontiers, only those that keep a pull away from the node.
void leave(uint u) {
    uint bit_of = 1u << (u & 31u);
#if defined(WALKS) && defined(FIRST_WINS)
    atomicOr(bits[BITS_CLOSED + (u >> 5u)], bit_of);
#else
    atomicAnd(bits[bits_now + (u >> 5u)], ~bit_of);
#endif
}

// mark says whether a node whose value changed from old is new to the next frontier.
bool mark(uint v, uint old) {
    uint bit_of = 1u << (v & 31u);
#if defined(WALKS) && defined(FIRST_WINS)
    return true;
#elif defined(FIRST_WINS)
    atomicOr(bits[bits_next + (v >> 5u)], bit_of);
    atomicOr(bits[BITS_CLOSED + (v >> 5u)], bit_of);
    return true;
#else
    if (old == IDENTITY) {
        lane_first += out_degree(v);
    }
    return (atomicOr(bits[bits_next + (v >> 5u)], bit_of) & bit_of) == 0u;
#endif
}

// arrive brings a value to a node and says whether that is a new hit.
bool arrive(uint v, uint arriving) {
    if (!better(values[v], arriving)) {
        return false;
    }
    uint old = ATOMIC_JOIN(values[v], arriving);
    return better(old, arriving) && mark(v, old);
}

void travel(uint v, uint arriving) {
    if (arrive(v, arriving)) {
        write_hit(hits + atomicAdd(counted_hits, 1u), v);
    }
}

void end_hits() {
#ifdef FIRST_WINS
    lane_first = lane_next;
#endif
    if (lane_next != 0u) {
        atomicAdd(counted_next_edges, lane_next);
    }
    if (lane_first != 0u) {
        atomicAdd(counted_first_edges, lane_first);
    }
    if (lane_examined != 0u) {
        atomicAdd(counted_examined, lane_examined);
    }
}
