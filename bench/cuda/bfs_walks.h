// The searches of bfs.cu: one resident cooperative kernel each, with a grid barrier a level.

#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "bfs_graph.h"

namespace cg = cooperative_groups;

const word ALL = 0xFFFFFFFFu;
const word HEAVY = 2048;      // out-edges from which a vertex is a block's work
const word HEAVY_LIST = 512;  // heavy vertices that a block remembers
const word FIRST_EDGES = 4;   // looked at by one lane in a pull
const word ALPHA = 15, BETA = 18;

enum Walk { PLAIN, SWITCH, PUSH, PULL };

// Count is what a level found for the next one. Three are used in turn: one is
// read, one is filled, one is cleared.
struct Count {
    word nodes, edges;
};

struct Search {
    word nodes, source;
    unsigned long long edges;
    const word *offsets, *targets;
    word *depth;
    word *queues[2];
    Count *counts;
    word *levels;  // how many there were
};

// The graph does not change: its loads may take the read-only path.
__device__ word offset(const Search &s, word v) { return __ldg(&s.offsets[v]); }
__device__ word target(const Search &s, word e) { return __ldg(&s.targets[e]); }

// append puts the vertices of the calling lanes into the next frontier.
__device__ void append(const Search &s, Count *next, word *queue, word v) {
    const cg::coalesced_group lanes = cg::coalesced_threads();
    const word degree = offset(s, v + 1) - offset(s, v);
    word base = 0;
    if (lanes.thread_rank() == 0) {
        base = atomicAdd(&next->nodes, lanes.size());
    }
    queue[lanes.shfl(base, 0) + lanes.thread_rank()] = v;
    const word edges = cg::reduce(lanes, degree, cg::plus<word>());
    if (lanes.thread_rank() == 0) {
        atomicAdd(&next->edges, edges);
    }
}

__device__ void push_edge(const Search &s, Count *next, word *queue, word depth, word u) {
    if (s.depth[u] == UNREACHED && atomicCAS(&s.depth[u], UNREACHED, depth) == UNREACHED) {
        append(s, next, queue, u);
    }
}

// plain_push gives each vertex to a warp, and plain_pull too.
__device__ void plain_push(const Search &s, const word *frontier, word n, Count *next, word *queue, word depth) {
    const word warps = gridDim.x * blockDim.x / 32;
    for (word i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < n; i += warps) {
        const word v = frontier[i], end = offset(s, v + 1);
        for (word e = offset(s, v) + threadIdx.x % 32; e < end; e += 32) {
            push_edge(s, next, queue, depth, target(s, e));
        }
    }
}

__device__ void plain_pull(const Search &s, Count *next, word *queue, word depth) {
    const word lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
    for (word v = (blockIdx.x * blockDim.x + threadIdx.x) / 32; v < s.nodes; v += warps) {
        if (s.depth[v] != UNREACHED) {
            continue;
        }
        const word end = offset(s, v + 1);
        for (word at = offset(s, v); at < end; at += 32) {
            if (__any_sync(ALL, at + lane < end && s.depth[target(s, at + lane)] == depth - 1)) {
                if (lane == 0) {
                    s.depth[v] = depth;
                    append(s, next, queue, v);
                }
                break;
            }
        }
        __syncwarp();
    }
}

__device__ void push(const Search &s, const word *frontier, word n, Count *next, word *queue, word depth) {
    __shared__ word heavy[HEAVY_LIST], heavies;
    const word lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
    if (threadIdx.x == 0) {
        heavies = 0;
    }
    __syncthreads();
    for (word i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < n; i += warps) {
        const word v = frontier[i], first = offset(s, v), end = offset(s, v + 1);
        word at = HEAVY_LIST;
        if (end - first >= HEAVY) {
            if (lane == 0) {
                at = atomicAdd(&heavies, 1);
                if (at < HEAVY_LIST) {
                    heavy[at] = v;
                }
            }
            at = __shfl_sync(ALL, at, 0);
        }
        if (at >= HEAVY_LIST) {
            for (word e = first + lane; e < end; e += 32) {
                push_edge(s, next, queue, depth, target(s, e));
            }
        }
    }
    __syncthreads();
    const word many = min(heavies, HEAVY_LIST);
    for (word i = 0; i < many; i++) {
        const word v = heavy[i], end = offset(s, v + 1);
        for (word e = offset(s, v) + threadIdx.x; e < end; e += blockDim.x) {
            push_edge(s, next, queue, depth, target(s, e));
        }
    }
}

__device__ void pull(const Search &s, Count *next, word *queue, word depth) {
    const word lane = threadIdx.x % 32, threads = gridDim.x * blockDim.x;
    const word padded = (s.nodes + 31) / 32 * 32;
    for (word v = blockIdx.x * blockDim.x + threadIdx.x; v < padded; v += threads) {
        word e = 0, end = 0;
        bool found = false;
        if (v < s.nodes && s.depth[v] == UNREACHED) {
            e = offset(s, v);
            end = offset(s, v + 1);
            const word few = min(end, e + FIRST_EDGES);
            for (; e < few && !found; e++) {
                found = s.depth[target(s, e)] == depth - 1;
            }
        }
        for (word left = __ballot_sync(ALL, !found && e < end); left != 0; left &= left - 1) {
            const int owner = __ffs(left) - 1;
            const word stop = __shfl_sync(ALL, end, owner);
            for (word at = __shfl_sync(ALL, e, owner); at < stop; at += 32) {
                if (__any_sync(ALL, at + lane < stop && s.depth[target(s, at + lane)] == depth - 1)) {
                    found = found || lane == owner;
                    break;
                }
            }
        }
        if (found) {
            s.depth[v] = depth;
            append(s, next, queue, v);
        }
        __syncwarp();
    }
}

template <int WALK>
__global__ void __launch_bounds__(1024) search(Search s) {
    const cg::grid_group grid = cg::this_grid();
    const word thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (word v = thread; v < s.nodes; v += threads) {
        s.depth[v] = v == s.source ? 0 : UNREACHED;
    }
    if (thread == 0) {
        s.queues[0][0] = s.source;
        s.counts[0] = {1, offset(s, s.source + 1) - offset(s, s.source)};
        s.counts[1] = {0, 0};
    }
    grid.sync();
    unsigned long long unexplored = s.edges;
    word before = 0, level = 0;
    bool pulling = WALK == PULL;
    for (;; level++) {
        const Count now = s.counts[level % 3];
        if (now.nodes == 0) {
            break;
        }
        unexplored -= now.edges;
        if (WALK == PLAIN || WALK == SWITCH) {
            pulling = pulling ? now.nodes >= before || now.nodes > s.nodes / BETA : now.edges > unexplored / ALPHA;
            before = now.nodes;
        }
        Count *next = &s.counts[(level + 1) % 3];
        word *queue = s.queues[(level + 1) % 2];
        if (thread == 0) {
            s.counts[(level + 2) % 3] = {0, 0};
        }
        if (WALK == PLAIN && pulling) {
            plain_pull(s, next, queue, level + 1);
        } else if (WALK == PLAIN) {
            plain_push(s, s.queues[level % 2], now.nodes, next, queue, level + 1);
        } else if (pulling) {
            pull(s, next, queue, level + 1);
        } else {
            push(s, s.queues[level % 2], now.nodes, next, queue, level + 1);
        }
        grid.sync();
    }
    if (thread == 0) {
        *s.levels = level;
    }
}
