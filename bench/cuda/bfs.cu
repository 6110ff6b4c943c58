// The yardstick of the graph benchmark on NVIDIA hardware: a breadth-first search
// by hand in CUDA, as one resident cooperative kernel with a grid barrier a level.
// It changes from push to pull and back by the rule and the constants of the GAP
// benchmark suite. "plain" gives a vertex to a warp, whether it pushes or pulls.
// The others balance their work: a push gives vertices of many edges to a whole
// block, and a pull 32 vertices to a warp, which looks at the first edges of each
// lane's own vertex and then at the rest together; "switch" changes as "plain"
// does, "push" and "pull" never do.
//
// nvcc -O3 -arch=sm_90 -o bfs bfs.cu && ./bfs DIR
//
// DIR is what "ringmaster bench graph --dump DIR" wrote: for each graph NAME.graph,
// little-endian 32-bit words: nodes, edges, sources, the sources, nodes + 1
// offsets, the targets. Edges lead both ways. Prints one JSON object a line: for
// each graph, choice of walks and geometry the median over the sources, each in
// turn the median of several runs, in milliseconds from the launch until the host
// knows the end ("wall") and between events ("device"). Depths are compared with
// those of a search on the host; a wrong one ends the program with an error.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <dirent.h>

namespace cg = cooperative_groups;

#define CHECK(call)                                                                       \
    do {                                                                                  \
        cudaError_t error = (call);                                                       \
        if (error != cudaSuccess) {                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

typedef uint32_t word;

const word UNREACHED = 0xFFFFFFFFu, ALL = 0xFFFFFFFFu;
const word HEAVY = 2048;      // out-edges from which a vertex is a block's work
const word HEAVY_LIST = 512;  // heavy vertices that a block remembers
const word FIRST_EDGES = 4;   // looked at by one lane in a pull
const word ALPHA = 15, BETA = 18;
const int WARM_RUNS = 2, RUNS = 9;

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

struct Graph {
    std::string name;
    word nodes, edges;
    std::vector<word> sources, offsets, targets;
};

static void fail(const std::string &what) {
    fprintf(stderr, "bfs.cu: %s\n", what.c_str());
    exit(1);
}

static std::vector<word> words(FILE *file, size_t n, const std::string &path) {
    std::vector<word> v(n);
    if (fread(v.data(), sizeof(word), n, file) != n) {
        fail(path + " is too short");
    }
    return v;
}

static Graph load(const std::string &dir, const std::string &name) {
    const std::string path = dir + "/" + name + ".graph";
    FILE *file = fopen(path.c_str(), "rb");
    if (file == nullptr) {
        fail(path + " cannot be read");
    }
    const std::vector<word> head = words(file, 3, path);
    Graph g = {name, head[0], head[1], {}, {}, {}};
    g.sources = words(file, head[2], path);
    g.offsets = words(file, (size_t)g.nodes + 1, path);
    g.targets = words(file, g.edges, path);
    fclose(file);
    if (g.sources.empty() || *std::max_element(g.sources.begin(), g.sources.end()) >= g.nodes || g.offsets.back() != g.edges ||
        (g.edges != 0 && *std::max_element(g.targets.begin(), g.targets.end()) >= g.nodes)) {
        fail(path + " is no graph");
    }
    return g;
}

// host searches on the host; edges counts those that leave what it reached.
static std::vector<word> host(const Graph &g, word source, double *edges) {
    std::vector<word> depth(g.nodes, UNREACHED), queue;
    depth[source] = 0;
    queue.push_back(source);
    *edges = 0;
    for (size_t i = 0; i < queue.size(); i++) {
        const word v = queue[i];
        *edges += g.offsets[v + 1] - g.offsets[v];
        for (word e = g.offsets[v]; e < g.offsets[v + 1]; e++) {
            if (depth[g.targets[e]] == UNREACHED) {
                depth[g.targets[e]] = depth[v] + 1;
                queue.push_back(g.targets[e]);
            }
        }
    }
    return depth;
}

static double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

template <typename T>
static T *upload(const std::vector<T> &host) {
    T *device;
    CHECK(cudaMalloc(&device, std::max<size_t>(host.size(), 1) * sizeof(T)));
    CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

struct Times {
    double wall, device;
};

// run searches once, and leaves the depths on the device.
static Times run(const void *kernel, Search &s, word blocks, word width, word *levels) {
    static cudaEvent_t begin, end;
    if (begin == nullptr) {
        CHECK(cudaEventCreate(&begin));
        CHECK(cudaEventCreate(&end));
    }
    void *arguments[] = {&s};
    CHECK(cudaDeviceSynchronize());
    const auto start = std::chrono::steady_clock::now();
    CHECK(cudaEventRecord(begin));
    CHECK(cudaLaunchCooperativeKernel(kernel, blocks, width, arguments, 0, 0));
    CHECK(cudaEventRecord(end));
    CHECK(cudaMemcpy(levels, s.levels, sizeof(word), cudaMemcpyDeviceToHost));
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    return {wall.count(), ms};
}

static void bench(const Graph &g, int processors) {
    Search s = {};
    s.nodes = g.nodes;
    s.edges = g.edges;
    s.offsets = upload(g.offsets);
    s.targets = upload(g.targets);
    s.depth = upload(std::vector<word>(g.nodes));
    s.queues[0] = upload(std::vector<word>(g.nodes));
    s.queues[1] = upload(std::vector<word>(g.nodes));
    s.counts = upload(std::vector<Count>(3));
    s.levels = upload(std::vector<word>(1));
    std::vector<std::vector<word>> want;
    std::vector<double> edges(g.sources.size());
    for (size_t i = 0; i < g.sources.size(); i++) {
        want.push_back(host(g, g.sources[i], &edges[i]));
    }
    const struct {
        const char *name;
        const void *kernel;
        Walk walk;
    } walks[] = {{"plain", (void *)search<PLAIN>, PLAIN}, {"switch", (void *)search<SWITCH>, SWITCH}, {"push", (void *)search<PUSH>, PUSH}, {"pull", (void *)search<PULL>, PULL}};
    for (const auto &walk : walks) {
        // The clocks are low after the host's searches.
        const auto begin = std::chrono::steady_clock::now();
        s.source = g.sources[0];
        for (word levels; std::chrono::steady_clock::now() - begin < std::chrono::seconds(1);) {
            run((void *)search<SWITCH>, s, processors, 1024, &levels);
        }
        // Pulling every level of a graph of many levels says nothing for its time.
        if (walk.walk == PULL && *std::max_element(want[0].begin(), want[0].end(), [](word a, word b) { return a + 1 < b + 1; }) > 100) {
            continue;
        }
        double best = 0, best_device = 0, best_rate = 0;
        for (word width : {256u, 512u, 1024u}) {
            int resident;
            CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, walk.kernel, width, 0));
            for (word threads : {512u, 1024u, 2048u}) {
                const word each = threads / width;
                if (each == 0 || each > (word)resident) {
                    continue;
                }
                std::vector<double> walls, devices, rates;
                for (size_t i = 0; i < g.sources.size(); i++) {
                    s.source = g.sources[i];
                    std::vector<double> wall, device;
                    word levels;
                    for (int r = 0; r < WARM_RUNS + RUNS; r++) {
                        const Times t = run(walk.kernel, s, each * processors, width, &levels);
                        if (r >= WARM_RUNS) {
                            wall.push_back(t.wall);
                            device.push_back(t.device);
                        }
                    }
                    walls.push_back(median(wall));
                    devices.push_back(median(device));
                    rates.push_back(edges[i] / 2 / (walls.back() * 1e-3));
                    std::vector<word> depth(g.nodes);
                    CHECK(cudaMemcpy(depth.data(), s.depth, g.nodes * sizeof(word), cudaMemcpyDeviceToHost));
                    if (depth != want[i]) {
                        fail(g.name + ": wrong depths by " + walk.name);
                    }
                }
                printf("{\"name\":\"cuda/%s/%s/%ux%u\",\"value\":%.6g,\"unit\":\"ms\",\"device_ms\":%.6g}\n", g.name.c_str(), walk.name, width,
                       each * processors, median(walls), median(devices));
                fflush(stdout);
                if (best == 0 || median(walls) < best) {
                    best = median(walls);
                    best_device = median(devices);
                    best_rate = median(rates);
                }
            }
        }
        printf("{\"name\":\"cuda/%s/%s/best\",\"value\":%.6g,\"unit\":\"ms\",\"device_ms\":%.6g,\"teps\":%.6g}\n", g.name.c_str(), walk.name,
               best, best_device, best_rate);
    }
    CHECK(cudaFree((void *)s.offsets));
    CHECK(cudaFree((void *)s.targets));
    CHECK(cudaFree(s.depth));
    CHECK(cudaFree(s.queues[0]));
    CHECK(cudaFree(s.queues[1]));
    CHECK(cudaFree(s.counts));
    CHECK(cudaFree(s.levels));
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fail("usage: bfs DIR");
    }
    std::vector<std::string> names;
    DIR *dir = opendir(argv[1]);
    if (dir == nullptr) {
        fail(std::string(argv[1]) + " cannot be read");
    }
    while (const dirent *entry = readdir(dir)) {
        const std::string file = entry->d_name;
        if (file.size() > 6 && file.compare(file.size() - 6, 6, ".graph") == 0) {
            names.push_back(file.substr(0, file.size() - 6));
        }
    }
    closedir(dir);
    if (names.empty()) {
        fail(std::string(argv[1]) + " has no graphs: write some with bench graph --dump");
    }
    std::sort(names.begin(), names.end());
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    int driver;
    CHECK(cudaDriverGetVersion(&driver));
    printf("{\"device\":\"%s\",\"cuda_driver\":%d}\n", device.name, driver);
    for (const std::string &name : names) {
        bench(load(argv[1], name), device.multiProcessorCount);
    }
    return 0;
}
