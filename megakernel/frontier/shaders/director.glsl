// What happens between two levels. Run by one invocation at a time.

uint pieces(uint count, uint size) { return count / size + uint(count % size != 0u); }

bool pushes(uint kind) { return kind == SPARSE || kind == HYBRID || kind == CONSTRAINED; }

// turn_over makes the next frontier the current one.
void turn_over() {
    level++;
    frontier_nodes = all_active != 0u && level == 0u ? nodes : hits;
    frontier_edges = all_active != 0u && level == 0u ? edges : next_edges;
    unexplored -= all_active == 0u ? first_edges : level == 0u ? edges : 0u;
    queued = min(hits, hit_capacity);
#ifndef ALL_PLACE
    place();
#endif
    processed = 0u;
    requeued = 0u;
    passes = 0u;
    hits = 0u;
    next_edges = 0u;
    first_edges = 0u;
    examined = 0u;
}

// choose decides the current level's topology.
void choose(bool by_host) {
    previous = topology;
    uvec2 rule = decide(frontier_nodes, frontier_edges, unexplored, previous);
    raw = forced != 0u ? forced : by_host ? decided : rule.x;
    topology = forced != 0u ? forced : by_host ? decided : rule.y;
}

// fits_resident says whether the current level may run in the resident kernel.
bool fits_resident() {
    bool allowed = topology == FUSED ? (resident & 2u) != 0u : topology == SPARSE && (resident & 1u) != 0u;
    return allowed && (dirty == 0u || CLEARS_ITSELF) && queued == frontier_nodes && processed == 0u
        && frontier_nodes <= resident_nodes && frontier_edges <= resident_edges
        && (hit_capacity >= nodes || hit_capacity >= frontier_edges); // no hit is requeued in there
}
