// What bfs.cu and its kernels have in common: errors of CUDA, and the graphs that "ringmaster bench graph --dump DIR" wrote:
// NAME.graph, little-endian 32-bit words: nodes, edges, sources, the sources, nodes + 1 offsets, the targets. Edges lead both
// ways.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "check.h"

const word UNREACHED = 0xFFFFFFFFu;

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
