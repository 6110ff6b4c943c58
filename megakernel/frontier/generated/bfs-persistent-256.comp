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
#define SEMIRING_BFS 1
#define JOIN_MIN 1
#define FIRST_WINS 1
#define SUBGROUPS 1
#define PERSISTENT 1
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

// The workgroups of the persistent kernel, and the barrier between them. In OpenGL a
// workgroup may wait for ever for one that has not begun. So those that run enter a list, the
// first of them closes it, and only those on the list take part and are waited for (Sorensen
// et al., "Portable Inter-workgroup Barrier Synchronisation for GPUs", OOPSLA 2016).

const uint TEAM_CLOSED = 0x80000000u;
const uint JOIN_POLLS = 256u;     // how often the first looks at the list before it closes it
const uint MEET_POLLS = 1u << 21; // how often a workgroup looks for the others, about a second

shared uint team_size;
shared uint team_index; // 0: the first, which writes on behalf of the team

// join_team says whether this workgroup takes part.
bool join_team() {
    if (gl_LocalInvocationIndex == 0u) {
        uint place = atomicAdd(team_joined, 1u);
        uint size = 0u;
        if (place == 0u) {
            for (uint i = 0u; i < JOIN_POLLS && team_joined < gl_NumWorkGroups.x; i++) {
            }
            size = atomicOr(team_joined, TEAM_CLOSED);
            atomicExchange(team_agreed, size);
        } else if (place < TEAM_CLOSED) {
            for (uint i = 0u; i < MEET_POLLS && size == 0u; i++) {
                size = team_agreed;
            }
        }
        team_size = size;
        team_index = place;
    }
    barrier();
    return team_size != 0u;
}

// all_arrive waits for the team, in one invocation, and returns a set of counts: arrivals,
// hits, their edges, and those of first hits. Fewer arrivals than the team has are a failure.
uvec4 all_arrive(uint set) {
    if (team_size > 1u) {
        atomicAdd(team_counts[set].x, 1u);
    }
    uvec4 found = team_counts[set];
    if (team_size == 1u) {
        found.x = 1u;
    }
    for (uint i = 0u; i < MEET_POLLS && found.x < team_size; i++) {
        found = team_counts[set];
    }
    return found;
}

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

// Runs levels of few nodes one after the other in a team of workgroups, as long as the rule
// allows it. One invocation of each workgroup decides the next level, all from the same counts,
// while the others already read what that level will need.

const uint LONG_ROWS = 1024u; // most rows of more than BATCH edges that wait for TEAM lanes each; others are pushed by one
const uint DECIDER = WIDTH - TEAM; // the invocation that decides; few frontiers are so large that it has a node of its own

uniform uint round;

shared uint long_rows[LONG_ROWS];
shared uint long_count, long_edges;
shared uint goes_on;
shared uint next_count; // nodes of the next frontier, while it is being decided

uint turns = 0u; // loop iterations that the deciding invocation has counted

// first_place spreads a frontier over the team in pieces of TEAM nodes.
uint first_place() {
    uint lane = gl_LocalInvocationIndex;
    return (lane / TEAM * team_size + team_index) * TEAM + lane % TEAM;
}

// look_ahead reads the invocation's first node of the current frontier.
Row look_ahead(uint count) {
    uint at = first_place();
    if (at < count) {
        return read_row(queue[queue_now + at]);
    }
    return no_row();
}

void push_long(uint u, uint from, uint step_size) {
    uint value = FRONTIER_VALUE(u);
    uint end = out_offsets[u + 1u];
    for (uint edge = out_offsets[u] + from; edge < end; edge += step_size * BATCH) {
        uint node[BATCH];
        uint arriving[BATCH];
        for (uint i = 0u; i < BATCH; i++) {
            bool there = edge + i * step_size < end;
            uint at_edge = there ? edge + i * step_size : edge;
            node[i] = out_targets[at_edge];
            arriving[i] = there ? extend(value, OUT_WEIGHT(at_edge)) : IDENTITY;
        }
        travel(node, arriving, old_values(node, arriving));
    }
}

void put_aside(uint u, uint degree) {
    uint at = atomicAdd(long_count, 1u);
    atomicAdd(long_edges, degree);
    if (at < LONG_ROWS) {
        long_rows[at] = u;
    } else {
        push_long(u, 0u, 1u);
    }
}

void push_level(Row row, uint count) {
    uint lane = gl_LocalInvocationIndex, first_at = first_place();
    for (uint at = first_at; at < count; at += WIDTH * team_size) {
        if (at != first_at) {
            row = read_row(queue[queue_now + at]);
        }
#ifndef FIRST_WINS
        atomicAnd(bits[bits_now + (row.u >> 5u)], ~(1u << (row.u & 31u)));
#endif
        if (row.degree > BATCH) {
            put_aside(row.u, row.degree);
        }
        travel(row.node, row.arriving, row.old);
    }
    barrier();
    uint rows = min(long_count, LONG_ROWS);
    for (uint at = lane / TEAM; at < rows; at += WIDTH / TEAM) {
        push_long(long_rows[at], lane % TEAM, TEAM);
    }
}

// meet waits until the whole team has finished the level, and takes the counts.
void meet() {
    memoryBarrierBuffer();
    barrier();
    if (gl_LocalInvocationIndex == DECIDER) {
        uvec4 found = all_arrive(counts);
        if (found.x < team_size) {
            now.state = STATE_STUCK;
        }
        now.hits = found.y;
        now.next_edges = found.z;
#ifdef FIRST_WINS
        now.first_edges = found.z;
#else
        now.first_edges = found.w;
#endif
        next_count = found.y;
    }
    barrier();
}

// end_level closes the level and begins the next one, if that one runs here too. One invocation runs it.
void end_level(uint count) {
    if (team_index == 0u) {
        team_counts[(counts + 2u) % 3u] = uvec4(0u); // all had read them before this meeting
        log_level();
    }
    now.logged++;
    // A driver may unroll small loops; they are counted as if it did not.
    turns += (pieces(count, WIDTH) + 1u) * (8u * BATCH + 1u) + (long_count + long_edges / TEAM) * (5u * BATCH + 1u);
    if (long_count > LONG_ROWS) {
        turns += long_edges * (5u * BATCH + 1u);
    }
    long_count = 0u;
    long_edges = 0u;
    turn_over();
    bool stop = now.state == STATE_STUCK || now.frontier_nodes == 0u || now.level >= job.max_levels
        || now.logged >= LOG_RECORDS || turns > job.persistent_turns || job.host_decides != 0u;
    if (!stop) {
        choose(false);
        if (!fits_persistent()) {
            now.persistent = CHOSEN;
            stop = true;
        }
    }
    now.passes = uint(!stop);
    goes_on = uint(!stop);
}

// mark_frontier sets or clears the marks of the current frontier. If the first arrival wins,
// the levels between need none, because no node is a hit twice.
void mark_frontier(bool set, uint count) {
#ifdef FIRST_WINS
    for (uint at = first_place(); at < count; at += WIDTH * team_size) {
        uint u = queue[queue_now + at];
        uint bit_of = 1u << (u & 31u);
        if (set) {
            atomicOr(bits[bits_now + (u >> 5u)], bit_of);
        } else {
            atomicAnd(bits[bits_now + (u >> 5u)], ~bit_of);
        }
    }
#endif
}

void main() {
    if (!join_team()) {
        return;
    }
    uint slot = (round + 1u) % 3u; // what the level kernel of this round has written
    now = rounds[slot];
    now.persistent = RAN;
    now.passes = 1u;
    if (gl_LocalInvocationIndex == DECIDER) {
        job = control_job;
        long_count = 0u;
        long_edges = 0u;
    }
    barrier();
    depth = now.level;
    place(depth);
    uint count = now.queued;
    mark_frontier(false, count);
    Row row = look_ahead(count);
    do {
        lane_next = 0u;
        lane_first = 0u;
        push_level(row, count);
        add_edges();
        meet();
        uint before = count;
        depth++;
        place(depth);
        count = next_count;
        row = look_ahead(count);
        if (gl_LocalInvocationIndex == DECIDER) {
            end_level(before);
        }
        counts = (counts + 1u) % 3u;
        barrier();
    } while (goes_on != 0u);
    mark_frontier(true, count);
    if (team_index == 0u && gl_LocalInvocationIndex == DECIDER) {
        rounds[slot] = now;
    }
}
