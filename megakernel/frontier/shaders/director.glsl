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
