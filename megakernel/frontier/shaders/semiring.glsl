// What travels along an edge, and how a node joins what arrives. FIRST_WINS says that
// nothing that arrives later than the first is better.

uint extend(uint value, uint weight) {
#if defined(SEMIRING_BFS)
    return value + 1u;
#elif defined(SEMIRING_SSSP)
    uint carry;
    uint sum = uaddCarry(value, weight, carry);
    return carry != 0u ? 0xFFFFFFFFu : sum;
#else
    return value;
#endif
}

// FRONTIER_VALUE(u) is the value of a frontier node. Levels know it without looking.
#if defined(SEMIRING_BFS)
#define FRONTIER_VALUE(u) level
#else
#define FRONTIER_VALUE(u) values[u]
#endif

#if defined(SEMIRING_REACH)
const uint IDENTITY = 0u;
bool better(uint old, uint arriving) { return (arriving & ~old) != 0u; }
uint join_values(uint a, uint b) { return a | b; }
#define ATOMIC_JOIN atomicOr
#else
const uint IDENTITY = 0xFFFFFFFFu;
bool better(uint old, uint arriving) { return arriving < old; }
uint join_values(uint a, uint b) { return min(a, b); }
#define ATOMIC_JOIN atomicMin
#endif
