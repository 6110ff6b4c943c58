// What happens between two levels. It is run by one invocation at a time.

uint pieces(uint count, uint size) { return count / size + uint(count % size != 0u); }

bool pushes(uint kind) { return kind == SPARSE || kind == HYBRID || kind == CONSTRAINED; }

// turn_over makes the next frontier the current one, if the level is over.
void turn_over(bool over) {
    level += uint(over);
    bool begins_whole = all_active != 0u && level == 0u; // the job begins with all nodes
    frontier_nodes = pick(over, pick(begins_whole, nodes, hits), frontier_nodes);
    frontier_edges = pick(over, pick(begins_whole, edges, next_edges), frontier_edges);
    unexplored -= pick(over, pick(all_active == 0u, first_edges, pick(begins_whole, edges, 0u)), 0u);
    queued = pick(over, min(hits, hit_capacity), queued);
#ifndef ALL_PLACE
    place();
#endif
    processed = pick(over, 0u, processed);
    requeued = pick(over, 0u, requeued);
    passes = pick(over, 0u, passes);
    hits = pick(over, 0u, hits);
    next_edges = pick(over, 0u, next_edges);
    first_edges = pick(over, 0u, first_edges);
    examined = pick(over, 0u, examined);
}

// choose decides the current level's topology, if that has to be done now.
void choose(bool now, bool by_host) {
    uvec2 rule = decide(frontier_nodes, frontier_edges, unexplored, topology);
    uint imposed = pick(forced != 0u, forced, decided);
    bool ruled = forced == 0u && !by_host;
    previous = pick(now, topology, previous);
    raw = pick(now, pick(ruled, rule.x, imposed), raw);
    topology = pick(now, pick(ruled, rule.y, imposed), topology);
}

// fits_resident says whether the current level may run in the resident kernel.
bool fits_resident() {
    bool allowed = (topology == FUSED && (resident & 2u) != 0u) || (topology == SPARSE && (resident & 1u) != 0u);
    return allowed && (dirty == 0u || CLEARS_ITSELF) && queued == frontier_nodes && processed == 0u
        && frontier_nodes <= resident_nodes && frontier_edges <= resident_edges
        && (hit_capacity >= nodes || hit_capacity >= frontier_edges); // the resident kernel requeues no hit
}
