#version 430 core
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#define WIDTH 256u
#define LOG_WIDTH 8u
#define BATCH 4u
#define ROWS 4u
#define TEAM 32u
#define BLOCK_EDGES 800000u
#define SEMIRING_SSSP 1
#define JOIN_MIN 1
#define WEIGHTED 1
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

// The topology of the next level, as Thresholds.Decide computes it.

// product_at_most says whether a * b <= c * d, in 64 bits.
bool product_at_most(uint a, uint b, uint c, uint d) {
    uint high_ab, low_ab, high_cd, low_cd;
    umulExtended(a, b, high_ab, low_ab);
    umulExtended(c, d, high_cd, low_cd);
    return high_ab < high_cd || (high_ab == high_cd && low_ab <= low_cd);
}

uint decide_by_edges(uint work, uint unexplored) {
    if (work <= job.sparse_work) {
        return SPARSE;
    }
    return work <= unexplored && product_at_most(work, work, job.pull_nodes, unexplored) ? HYBRID : job.wide;
}

uint decide_by_nodes(uint count) {
    if (count <= job.sparse_most) {
        return SPARSE;
    }
    return count <= job.hybrid_most ? HYBRID : job.wide;
}

uint wide_after(uint prev) { return prev == FUSED ? job.kept : job.wide; }

uint held_by_edges(uint raw, uint prev, uint work) {
    if (prev == SPARSE && work <= job.rise_work) {
        return prev;
    }
    if ((prev == DENSE || prev == FUSED) && work > job.sparse_work) {
        return wide_after(prev);
    }
    return raw;
}

uint held_by_nodes(uint raw, uint prev, uint count) {
    bool hold = false;
    if (prev == SPARSE) {
        hold = count <= job.sparse_keep;
    } else if (prev == HYBRID) {
        hold = raw == SPARSE ? count >= job.hybrid_low : count <= job.hybrid_high;
    } else if (prev == DENSE || prev == FUSED) {
        bool ends = raw == SPARSE || (raw != HYBRID && job.full == 0u) || count < job.dense_keep;
        if (!ends && job.full != 0u) {
            return wide_after(prev);
        }
        hold = !ends && (prev == DENSE || job.wide == FUSED);
    }
    return hold ? prev : raw;
}

// decide returns the topology before and after hysteresis.
uvec2 decide(uint count, uint edges, uint unexplored, uint prev) {
    uint work = max(edges, count);
    if (job.pressed != 0u) {
        return uvec2(CONSTRAINED);
    }
    uint raw = job.by_edges != 0u ? decide_by_edges(work, unexplored) : decide_by_nodes(count);
    if (raw == prev) {
        return uvec2(raw);
    }
    if (prev == CONSTRAINED) {
        return uvec2(raw, job.relaxed == 0u ? prev : raw);
    }
    if (job.by_edges != 0u) {
        return uvec2(raw, held_by_edges(raw, prev, work));
    }
    return uvec2(raw, held_by_nodes(raw, prev, count));
}

// What happens between two levels. One invocation runs it.

uint pieces(uint count, uint size) { return count / size + uint(count % size != 0u); }

bool pushes(uint kind) { return kind == SPARSE || kind == HYBRID || kind == CONSTRAINED; }

void log_level() {
    level_log[now.logged] = Record(now.level, now.frontier_nodes, now.frontier_edges, now.unexplored, now.previous, now.raw,
        now.topology, now.persistent, now.passes, now.requeued, now.hits, now.examined);
}

// turn_over makes the next frontier the current one.
void turn_over() {
    now.level++;
    if (job.all_active == 0u) {
        now.frontier_nodes = now.hits;
        now.frontier_edges = now.next_edges;
        now.unexplored -= now.first_edges;
    } else if (now.level == 0u) { // the job begins with all nodes
        now.frontier_nodes = job.nodes;
        now.frontier_edges = job.edges;
        now.unexplored = 0u;
    } else {
        now.frontier_nodes = now.hits;
        now.frontier_edges = now.next_edges;
    }
    now.queued = min(now.hits, job.hit_capacity);
    now.processed = 0u;
    now.requeued = 0u;
    now.passes = 0u;
    now.hits = 0u;
    now.next_edges = 0u;
    now.first_edges = 0u;
    now.examined = 0u;
}

// choose decides the current level's topology.
void choose(bool by_host) {
    uvec2 rule = decide(now.frontier_nodes, now.frontier_edges, now.unexplored, now.topology);
    if (job.forced != 0u) {
        rule = uvec2(job.forced);
    } else if (by_host) {
        rule = uvec2(now.decided);
    }
    now.previous = now.topology;
    now.raw = rule.x;
    now.topology = rule.y;
}

// fits_persistent says whether the current level may run in the persistent kernel, which requeues no hit.
bool fits_persistent() {
    return job.persistent_groups != 0u && (now.topology == FUSED || (now.topology == SPARSE && job.forced == 0u))
        && now.dirty == 0u && now.queued == now.frontier_nodes && now.processed == 0u
        && now.frontier_nodes <= job.persistent_nodes && now.frontier_edges <= job.persistent_edges
        && (job.hit_capacity >= job.nodes || job.hit_capacity >= now.frontier_edges);
}

// What the director does before a round: it closes the round before, and decides what this one does. One invocation of
// each workgroup runs it, all from the same words. The first workgroup writes on behalf of all.

uniform uint round;
uniform uint offers_persistent; // 1: the persistent kernel follows in this round

// load_round loads what the round before left, with what its workgroups counted.
void load_round() {
    now = rounds[round % 3u];
    Counts counts = counted[round % 3u];
    now.hits += counts.hits;
    now.examined += counts.examined;
    now.next_edges += counts.next_edges;
    now.first_edges += counts.first_edges;
    now.tile_count += counts.tile_count;
    now.gathered += counts.gathered;
}

void begin_pass() {
    now.state = STATE_PUSH;
    now.passes++;
    now.tile_count = 0u;
}

void begin_gather() {
    now.state = STATE_GATHER;
    now.gathered = 0u;
}

// close_level ends the current level, or the sowing of the sources.
void close_level() {
    if (now.state != STATE_START) {
        if (gl_WorkGroupID.x == 0u) {
            log_level();
        }
        now.logged++;
    }
    turn_over();
}

// close_push says whether a push was the last pass over its frontier. If not, it decides what follows.
bool close_push() {
    if (now.state == STATE_PUSH && now.tile_count != 0u) {
        now.state = STATE_TILES;
        return false;
    }
    now.processed += now.queued;
    if (now.processed >= now.frontier_nodes) {
        return true;
    }
    now.requeued += min(now.frontier_nodes - now.processed, ~now.requeued); // saturates: every pass counts a waiting node again
    begin_gather();
    return false;
}

// level_waits closes the round before, and says whether a level waits for its topology.
bool level_waits() {
    switch (now.state) {
    case STATE_PUSH:
    case STATE_TILES:
        if (!close_push()) {
            return false;
        }
        close_level();
        return true;
    case STATE_GATHER:
        now.queued = min(now.gathered, job.hit_capacity);
        begin_pass();
        return false;
    case STATE_START:
    case STATE_PULL:
        close_level();
        return true;
    case STATE_PERSISTENT: // it closed its levels itself
    case STATE_FULL:
        return true;
    case STATE_ASK:
        return now.decided != 0u;
    }
    return false; // the job has ended
}

// stop_before is the state in which the job waits or ends before the current level, or START if it goes on.
uint stop_before(bool by_host) {
    if (now.frontier_nodes == 0u) {
        return STATE_DONE;
    }
    if (now.level >= job.max_levels) {
        return STATE_LEVELS;
    }
    if (now.logged >= LOG_RECORDS) {
        return STATE_FULL;
    }
    return job.host_decides != 0u && !by_host ? STATE_ASK : STATE_START;
}

// begin_level begins the current level, which has its topology.
void begin_level() {
    now.clears = now.dirty;
    now.persistent = ORDERED;
    if (fits_persistent() && (offers_persistent != 0u || now.topology == FUSED)) {
        now.state = STATE_PERSISTENT;
        now.persistent = offers_persistent != 0u ? ORDERED : CHOSEN; // waits for a round that has the kernel
    } else if (!pushes(now.topology)) {
        now.state = STATE_PULL;
        now.passes = 1u;
    } else if (now.queued == 0u) {
        begin_gather();
    } else {
        begin_pass();
    }
    now.dirty = uint(now.state == STATE_PULL);
}

void direct() {
    now.clears = 0u;
    if (now.state == STATE_PERSISTENT && now.persistent == CHOSEN) {
        begin_level();
        return;
    }
    if (!level_waits()) {
        return;
    }
    bool by_host = now.state == STATE_ASK;
    uint stop = stop_before(by_host);
    if (stop == STATE_START) {
        choose(by_host);
        begin_level();
    } else {
        now.state = stop;
    }
    now.decided = 0u;
}

// write_round writes down what this round does, and orders the persistent kernel if it is to run.
void write_round() {
    rounds[(round + 1u) % 3u] = now;
    bool ordered = now.state == STATE_PERSISTENT && now.persistent == ORDERED;
    persistent_args[0] = ordered ? job.persistent_groups : 0u;
    if (ordered) {
        team_joined = 0u;
        team_agreed = 0u;
        for (uint i = 0u; i < 3u; i++) {
            team_counts[i] = uvec4(0u);
        }
    }
}

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

// Shares the edges of a workgroup's rows: prefix sums over the degrees, and binary search
// for the row of an edge.

shared uint row_end[WIDTH];   // sum of the degrees up to and including this row
shared uint row_shift[WIDTH]; // first edge of the row, minus the sum of the degrees before it
shared uint row_value[WIDTH]; // what leaves a pushed row, or what arrived at a pulled one

const uint SCAN_ROW = 16u;

// share_rows takes each invocation's row and returns the number of edges.
uint share_rows(uint first, uint degree) {
    uint lane = gl_LocalInvocationIndex;
    row_end[lane] = degree;
    barrier();
    if (lane < WIDTH / SCAN_ROW) {
        uint sum = 0u;
        for (uint i = 0u; i < SCAN_ROW; i++) {
            sum += row_end[lane * SCAN_ROW + i];
            row_end[lane * SCAN_ROW + i] = sum;
        }
    }
    barrier();
    uint before = 0u;
    for (uint i = 0u; i < lane / SCAN_ROW; i++) {
        before += row_end[i * SCAN_ROW + SCAN_ROW - 1u];
    }
    uint end = row_end[lane] + before;
    barrier();
    row_end[lane] = end;
    row_shift[lane] = first - (end - degree);
    barrier();
    return row_end[WIDTH - 1u];
}

// row_of is the row of an edge; e is below the number that share_rows returned.
uint row_of(uint e) {
    uint row = 0u;
    for (uint i = 1u; i <= LOG_WIDTH; i++) {
        uint step = WIDTH >> i;
        row += row_end[row + step - 1u] <= e ? step : 0u;
    }
    return row;
}

// Clears the spare bitmap after a pull, and gathers the nodes that wait in the current one
// into the hit buffer.

shared uint found;
shared uint found_at;

void clear_spare() {
    for (uint word = gl_WorkGroupID.x * WIDTH + gl_LocalInvocationIndex; word < job.bit_words; word += gl_NumWorkGroups.x * WIDTH) {
        bits[bits_spare + word] = 0u;
    }
}

void gather_waiting() {
    uint lane = gl_LocalInvocationIndex;
    for (uint first = gl_WorkGroupID.x * WIDTH; first < job.bit_words; first += gl_NumWorkGroups.x * WIDTH) {
        uint word = first + lane;
        uint waiting = word < job.bit_words ? bits[bits_now + word] : 0u;
        if (lane == 0u) {
            found = 0u;
        }
        barrier();
        uint at = atomicAdd(found, uint(bitCount(waiting)));
        barrier();
        if (lane == 0u && found != 0u) {
            found_at = atomicAdd(counted[filled].gathered, found);
        }
        barrier();
        at += found_at;
        while (waiting != 0u && at < job.hit_capacity) {
            queue[queue_now + at] = word * 32u + uint(findLSB(waiting));
            waiting &= waiting - 1u;
            at++;
        }
        barrier();
    }
}

// Pushes the values of the frontier along its out-edges. A workgroup takes chunks of frontier
// nodes; rows of many edges are cut into tiles, which are the next round's work. In a frontier
// of a single chunk no row is cut, and all workgroups share the chunk.

void cut(uint u, uint degree) {
    uint count = degree / TILE_EDGES + uint(degree % TILE_EDGES != 0u);
    uint at = atomicAdd(counted[filled].tile_count, count);
    for (uint i = 0u; i < count; i++) {
        tiles[at + i] = uvec2(u, i);
    }
}

// push_rows pushes from some nodes of the hit buffer, at most as many as a workgroup has invocations: along all of their
// edges, or along one of several parts of them.
void push_rows(uint from, uint count, uint part, uint parts) {
    uint lane = gl_LocalInvocationIndex;
    uint first = 0u;
    uint degree = 0u;
    if (lane < count) {
        uint u = queue[queue_now + from + lane];
        first = out_offsets[u];
        degree = out_offsets[u + 1u] - first;
        if (part == 0u) {
            atomicAnd(bits[bits_now + (u >> 5u)], ~(1u << (u & 31u)));
        }
        row_value[lane] = FRONTIER_VALUE(u);
        if (parts == 1u && degree >= (now.topology == HYBRID ? HYBRID_DEGREE : SPARSE_DEGREE)) {
            cut(u, degree);
            degree = 0u;
        }
    }
    uint total = share_rows(first, degree);
    for (uint e = part * BATCH * WIDTH + lane; e < total; e += parts * BATCH * WIDTH) {
        uint node[BATCH];
        uint arriving[BATCH];
        for (uint i = 0u; i < BATCH; i++) {
            uint at_edge = e + i * WIDTH;
            bool there = at_edge < total;
            uint row = row_of(there ? at_edge : e);
            uint edge = row_shift[row] + (there ? at_edge : e);
            node[i] = out_targets[edge];
            arriving[i] = there ? extend(row_value[row], OUT_WEIGHT(edge)) : IDENTITY;
        }
        travel(node, arriving);
    }
    flush_hits();
}

void push_chunks(uint walkers) {
    // Few nodes: their edges are shared by all workgroups, as far as there are edges for them.
    bool few = now.queued <= WIDTH && walkers > 1u;
    uint part = few ? gl_WorkGroupID.x : 0u;
    if (part != 0u && part * BATCH * WIDTH > now.frontier_edges) {
        return;
    }
    // Others: enough chunks for the device, and enough edges for a workgroup.
    float wanted = float(clamp(now.frontier_edges / PUSH_GROUPS_GOAL, 4u * WIDTH, 32u * WIDTH));
    uint chunk_nodes = uint(clamp(wanted * float(now.frontier_nodes) / float(max(now.frontier_edges, 1u)), 1.0, float(WIDTH)));
    chunk_nodes = few ? WIDTH : chunk_nodes;
    for (uint from = few ? 0u : gl_WorkGroupID.x * chunk_nodes; from < now.queued; from += walkers * chunk_nodes) {
        push_rows(from, min(chunk_nodes, now.queued - from), part, few ? walkers : 1u);
    }
}

void push_tiles(uint walkers) {
    for (uint at = gl_WorkGroupID.x; at < now.tile_count; at += walkers) {
        uint u = tiles[at].x;
        uint value = FRONTIER_VALUE(u);
        uint first = out_offsets[u] + tiles[at].y * TILE_EDGES;
        uint end = min(first + TILE_EDGES, out_offsets[u + 1u]);
        for (uint edge = first + gl_LocalInvocationIndex; edge < end; edge += BATCH * WIDTH) {
            uint node[BATCH];
            uint arriving[BATCH];
            for (uint i = 0u; i < BATCH; i++) {
                uint at_edge = edge + i * WIDTH < end ? edge + i * WIDTH : edge;
                node[i] = out_targets[at_edge];
                arriving[i] = edge + i * WIDTH < end ? extend(value, OUT_WEIGHT(at_edge)) : IDENTITY;
            }
            travel(node, arriving);
        }
        flush_hits();
    }
}

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

// A round of a level. A dispatch has the same number of workgroups whatever the level. Each of them decides for itself what
// the round does, from what the round before left, so that only a barrier is needed between two rounds.

const uint DECIDER = min(32u, WIDTH - 1u); // in another subgroup than the invocation that does what is done once

shared Round told; // by the invocation that decides

void main() {
    uint lane = gl_LocalInvocationIndex;
    if (lane == 0u) {
        job = control_job;
        begin_hits();
        if (gl_WorkGroupID.x == 0u) {
            counted[(round + 2u) % 3u] = Counts(0u, 0u, 0u, 0u, 0u, 0u);
        }
    }
    if (lane == DECIDER) {
        load_round();
    }
    barrier();
    if (lane == DECIDER) {
        direct();
        told = now;
        if (gl_WorkGroupID.x == 0u) {
            write_round();
        }
    }
    barrier();
    now = told;
    if (now.state < STATE_PUSH || now.state > STATE_PULL) {
        return;
    }
    place(now.level);
    filled = (round + 1u) % 3u;
    uint walkers = min(job.push_groups, gl_NumWorkGroups.x);
    if (now.clears != 0u) {
        clear_spare();
    }
    if (now.state == STATE_PULL) {
        pull();
    } else if (now.state == STATE_GATHER) {
        gather_waiting();
    } else if (gl_WorkGroupID.x < walkers) {
        if (now.state == STATE_TILES) {
            push_tiles(walkers);
        } else {
            push_chunks(walkers);
        }
    }
    end_hits();
}
