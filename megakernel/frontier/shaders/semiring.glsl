// What travels along an edge, and how a node joins what arrives. FIRST_WINS says that no
// later arrival is better than the first.

#if defined(JOIN_OR)
const uint IDENTITY = 0u;
bool better(uint old, uint arriving) { return (arriving & ~old) != 0u; }
uint join_values(uint a, uint b) { return a | b; }
#define ATOMIC_JOIN atomicOr
#elif defined(JOIN_AND)
const uint IDENTITY = 0xFFFFFFFFu;
bool better(uint old, uint arriving) { return (old & ~arriving) != 0u; }
uint join_values(uint a, uint b) { return a & b; }
#define ATOMIC_JOIN atomicAnd
#elif defined(JOIN_MAX)
const uint IDENTITY = 0u;
bool better(uint old, uint arriving) { return arriving > old; }
uint join_values(uint a, uint b) { return max(a, b); }
#define ATOMIC_JOIN atomicMax
#else
const uint IDENTITY = 0xFFFFFFFFu;
bool better(uint old, uint arriving) { return arriving < old; }
uint join_values(uint a, uint b) { return min(a, b); }
#define ATOMIC_JOIN atomicMin
#endif

uint extend(uint value, uint weight) {
#if defined(SEMIRING_BFS)
    return value + 1u;
#elif defined(SEMIRING_SSSP)
    uint carry;
    uint sum = uaddCarry(value, weight, carry);
    return carry != 0u ? 0xFFFFFFFFu : sum;
#elif defined(GIVEN)
    return value != IDENTITY ? rm_extend(value, weight) : IDENTITY; // IDENTITY: nothing arrived there
#elif defined(SEMIRING_USER)
    return rm_extend(value, weight);
#else
    return value;
#endif
}

// FRONTIER_VALUE(u) is what leaves a frontier node. In breadth-first jobs the level says it, without a read.
#if defined(SEMIRING_BFS)
#define FRONTIER_VALUE(u) now.level
#elif defined(SEMIRING_FLOW)
uint leaves(uint u) {
    uvec2 of_node = facts[u]; // the facts that the node generates and those that it kills
    return of_node.x | (values[u] & ~of_node.y);
}
#define FRONTIER_VALUE(u) leaves(u)
#elif defined(GIVEN)
#define FRONTIER_VALUE(u) given[u]
#else
#define FRONTIER_VALUE(u) values[u]
#endif
