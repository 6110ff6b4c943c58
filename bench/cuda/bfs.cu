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
// DIR is what "ringmaster bench graph --dump DIR" wrote. Prints one JSON object a
// line: for each graph, choice of walks and geometry the median over the sources,
// each in turn the median of several runs, in milliseconds from the launch until
// the host knows the end ("wall") and between events ("device"). Depths are compared
// with those of a search on the host; a wrong one ends the program with an error.

#include <chrono>

#include <dirent.h>

#include "bfs_walks.h"

const int WARM_RUNS = 2, RUNS = 9;

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

// busy computes for half a millisecond. A device that mostly waits for the host lowers
// its clocks; "bench graph" keeps it busy between searches in the same way.
static __global__ void busy(word *result) {
    word x = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < 250000; i++) {
        x = x * 1664525u + 1013904223u;
    }
    if (x == 1) {
        *result = x;
    }
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
    busy<<<264, 256>>>(s.levels);
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
