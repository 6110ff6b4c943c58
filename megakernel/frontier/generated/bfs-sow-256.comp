#version 430 core
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#define WIDTH 256u
#define LOG_WIDTH 8u
#define BATCH 1u
#define ROWS 4u
#define TEAM 32u
#define BLOCK_EDGES 800000u
#define SEMIRING_BFS 1
#define JOIN_MIN 1
#define FIRST_WINS 1
#define SUBGROUPS 1
#define WALKS 1
#define BIND_CONTROL 0
#define BIND_TOTALS 1
#define BIND_ARGS 2
#define BIND_LOG 3
#define BIND_VALUES 4
#define BIND_QUEUE 5
#define BIND_BITS 6
#define BIND_TILES 7
#define BIND_OUT_OFFSETS 8
#define BIND_OUT_TARGETS 9
#define BIND_OUT_WEIGHTS 10
#define BIND_IN_OFFSETS 11
#define BIND_IN_TARGETS 12
#define BIND_IN_WEIGHTS 13
#define BIND_BLOCKS 14
#define BIND_FACTS 15
layout(local_size_x = 256) in;
const uint SPARSE = 2u;
const uint HYBRID = 3u;
const uint DENSE = 4u;
const uint FUSED = 5u;
const uint CONSTRAINED = 6u;
const uint STATE_START = 0u;
const uint STATE_PUSH = 1u;
const uint STATE_TILES = 2u;
const uint STATE_GATHER = 3u;
const uint STATE_PULL = 4u;
const uint STATE_PERSISTENT = 5u;
const uint STATE_FULL = 6u;
const uint STATE_ASK = 7u;
const uint STATE_LEVELS = 8u;
const uint STATE_STUCK = 9u;
const uint STATE_DONE = 10u;
const uint ACTIVE_NUMBERED = 1u;
const uint LOG_RECORDS = 4096u;
const uint TILE_EDGES = 4096u;
const uint SPARSE_DEGREE = 4096u;
const uint HYBRID_DEGREE = 512u;
const uint STAGED_HITS = 1024u;
const uint PUSH_GROUPS_GOAL = 1024u;
const uint PROBES = 8u;

// What host and device tell each other. The structs have the words of those in layout.go, in the same order; a test asks
// the driver where each word lies.

// Job is what the host says once, before a job.
struct Job {
    uint nodes;
    uint edges;             // out-edges of the graph
    uint hit_capacity;      // nodes of a hit buffer
    uint bit_words;         // words of a bitmap
    uint seeds;             // sources
    uint all_active;        // which nodes are active at first
    uint forced;            // topology of every level, or 0
    uint host_decides;      // 1: wait for the host before each level
    uint max_levels;        // levels after which the job ends
    uint push_groups;       // most workgroups of a push
    uint pull_blocks;       // blocks of a pull: of nodes, and then pieces of heavy ones
    uint persistent_groups; // workgroups of the persistent kernel; 0: it runs no level
    uint persistent_nodes;  // the largest frontier that it takes
    uint persistent_edges;
    uint persistent_turns; // loop iterations after which it begins no other level

    // The policy's rule; see Thresholds in thresholds.go.
    uint by_edges;
    uint pressed;
    uint relaxed;
    uint wide;
    uint kept;
    uint full;
    uint sparse_work;
    uint rise_work;
    uint pull_nodes;
    uint sparse_most;
    uint hybrid_most;
    uint sparse_keep;
    uint hybrid_low;
    uint hybrid_high;
    uint dense_keep;
};

// Round is what one round leaves for the next.
struct Round {
    uint state;          // what the round did
    uint decided;        // the topology that the host decided for the level it was asked about
    uint queued;         // nodes in the current hit buffer
    uint processed;      // frontier nodes that are done
    uint dirty;          // 1: the spare bitmap has to be cleared
    uint clears;         // 1: this round clears it
    uint logged;         // records in the log
    uint level;          // the current level
    uint frontier_nodes;
    uint frontier_edges; // out-edges of the frontier
    uint unexplored;     // out-edges of the nodes not reached so far
    uint previous;       // topology of the level before
    uint raw;            // of the current level, before hysteresis
    uint topology;       // of the current level
    uint persistent;     // whether the current level runs in the persistent kernel, see ORDERED
    uint passes;         // over the current level's frontier
    uint requeued;       // frontier nodes that waited, counted each time
    uint hits;           // what the rounds of the current level counted so far, from here on
    uint examined;
    uint next_edges;
    uint first_edges;
    uint tile_count;
    uint gathered;
};

// Values of Round.persistent.
const uint ORDERED = 0u; // the level does not run in the persistent kernel, or is ordered but has not begun
const uint RAN = 1u;     // it ran there; the level that follows has no topology yet
const uint CHOSEN = 2u;  // the level has its topology, and waits to begin

// Counts are what the workgroups of a round count for the director of the next round.
struct Counts {
    uint hits;        // nodes of the next frontier
    uint examined;    // edges at which a pull looked
    uint next_edges;  // out-edges of the next frontier
    uint first_edges; // of those of its nodes that were reached for the first time
    uint tile_count;  // pieces of rows that were cut
    uint gathered;    // nodes that a gather found
};

// Record is what a level did. It is valid once the level is complete.
struct Record {
    uint level;
    uint frontier_nodes;
    uint frontier_edges;
    uint unexplored;
    uint previous;
    uint raw;
    uint topology;
    uint persistent;
    uint passes;
    uint requeued;
    uint hits;
    uint examined;
};

// The persistent kernel's workgroups wait for each other by words of the totals, and a level reads what the level before it
// wrote in the same dispatch.
#ifdef PERSISTENT
#define TEAM_ACCESS coherent volatile
#define LEVEL_ACCESS coherent
#else
#define TEAM_ACCESS
#define LEVEL_ACCESS
#endif

// Round r reads rounds[r % 3] and counted[r % 3], writes the next of both, and clears the counts behind that.
layout(std430, binding = BIND_CONTROL) buffer Control {
    Job control_job;
    Round rounds[3];
};
layout(std430, binding = BIND_TOTALS) TEAM_ACCESS buffer Totals {
    uint team_joined;    // workgroups on the list of the persistent kernel's; bit 31: the list is closed
    uint team_agreed;    // workgroups that take part; 0 until that is known
    uint team_padding[2];
    uvec4 team_counts[3]; // sets of arrivals, hits, their edges, and those of first hits
    Counts counted[3];
    uint reached; // by the last kernel: nodes whose value is not the identity
    uint reached_edges;
};
// The group counts of an indirect dispatch. The host neither writes nor reads them: a driver moves what the host touches to
// memory from which dispatching is slow.
layout(std430, binding = BIND_ARGS) buffer Args { uint persistent_args[3]; };
layout(std430, binding = BIND_LOG) writeonly buffer Log { Record level_log[]; };
layout(std430, binding = BIND_VALUES) LEVEL_ACCESS buffer Values { uint values[]; };   // a word for each node
layout(std430, binding = BIND_QUEUE) LEVEL_ACCESS buffer Queue { uint queue[]; };      // two hit buffers
layout(std430, binding = BIND_BITS) LEVEL_ACCESS buffer Bits { uint bits[]; };         // three bitmaps over the nodes
layout(std430, binding = BIND_TILES) LEVEL_ACCESS buffer Tiles { uvec2 tiles[]; };     // pieces of rows; at first the sources, until they are sown
layout(std430, binding = BIND_OUT_OFFSETS) readonly buffer OutOffsets { uint out_offsets[]; };
layout(std430, binding = BIND_OUT_TARGETS) readonly buffer OutTargets { uint out_targets[]; };
layout(std430, binding = BIND_OUT_WEIGHTS) readonly buffer OutWeights { uint out_weights[]; };
layout(std430, binding = BIND_IN_OFFSETS) readonly buffer InOffsets { uint in_offsets[]; };
layout(std430, binding = BIND_IN_TARGETS) readonly buffer InTargets { uint in_targets[]; };
layout(std430, binding = BIND_IN_WEIGHTS) readonly buffer InWeights { uint in_weights[]; };
layout(std430, binding = BIND_BLOCKS) readonly buffer Blocks { uvec4 heavy_blocks[]; }; // pieces of blocks of nodes with many in-edges
#if defined(SEMIRING_FLOW)
layout(std430, binding = BIND_FACTS) readonly buffer Facts { uvec2 facts[]; }; // what each node generates and kills
#elif defined(GIVEN)
layout(std430, binding = BIND_FACTS) readonly buffer Given { uint given[]; }; // what leaves each node
#endif

#if defined(WEIGHTED)
#define OUT_WEIGHT(edge) out_weights[edge]
#define IN_WEIGHT(edge) in_weights[edge]
#else
#define OUT_WEIGHT(edge) 1u
#define IN_WEIGHT(edge) 1u
#endif

// The kernels that walk have the job in shared memory; each invocation has the round.
#ifdef WALKS
shared Job job;
#else
Job job;
#endif
Round now;

// Where the hit buffers and bitmaps of the current level and of the next one begin. The spare bitmap is that of the level
// before.
uint queue_now, queue_next;
uint bits_now, bits_next, bits_spare;

// place finds them. The sources are sown in the level before the first.
void place(uint level) {
    queue_now = (level & 1u) * job.hit_capacity;
    queue_next = (~level & 1u) * job.hit_capacity;
    uint third = (level + 3u) % 3u;
    bits_now = third * job.bit_words;
    bits_next = (third == 2u ? 0u : third + 1u) * job.bit_words;
    bits_spare = (third == 0u ? 2u : third - 1u) * job.bit_words;
}

uint out_degree(uint v) { return out_offsets[v + 1u] - out_offsets[v]; }

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

// Sows the sources: pairs of a node and its value.

void main() {
    if (gl_LocalInvocationIndex == 0u) {
        job = control_job;
        begin_hits();
    }
    barrier();
    now = rounds[0];
    place(now.level);
    filled = 0u; // what the first round reads
    for (uint i = gl_GlobalInvocationID.x; i < job.seeds; i += gl_NumWorkGroups.x * WIDTH) {
        travel(uint[BATCH](tiles[i].x), uint[BATCH](tiles[i].y));
    }
    flush_hits();
    end_hits();
}
