// What happens between two levels. Run by one invocation at a time.

uint pieces(uint count, uint size) { return count / size + uint(count % size != 0u); }

bool pushes(uint kind) { return kind == SPARSE || kind == HYBRID || kind == CONSTRAINED; }

// log_level counts the level that is complete, and records it.
void log_level(bool records) {
    LevelRecord r;
    r.record_level = level;
    r.record_nodes = frontier_nodes;
    r.record_edges = frontier_edges;
    r.record_unexplored = unexplored;
    r.record_previous = previous;
    r.record_raw = raw;
    r.record_topology = topology;
    r.record_resident = in_resident;
    r.record_passes = passes;
    r.record_requeued = requeued;
    r.record_hits = hits;
    r.record_examined = in_resident != 0u || pushes(topology) ? frontier_edges : examined;
    if (records) {
        level_log[logged] = r;
    }
    logged++;
}

// turn_over makes the next frontier the current one.
void turn_over() {
    level++;
    frontier_nodes = all_active != 0u && level == 0u ? nodes : hits;
    frontier_edges = all_active != 0u && level == 0u ? edges : next_edges;
    unexplored -= all_active == 0u ? first_edges : level == 0u ? edges : 0u;
    queued = min(hits, hit_capacity);
    uint half_queue = level & 1u;
    queue_now = half_queue * hit_capacity;
    queue_next = (half_queue ^ 1u) * hit_capacity;
    bits_now = (level % 3u) * bit_words;
    bits_next = ((level + 1u) % 3u) * bit_words;
    bits_spare = ((level + 2u) % 3u) * bit_words;
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
    return allowed && dirty == 0u && queued == frontier_nodes && processed == 0u
        && frontier_nodes <= resident_nodes && frontier_edges <= resident_edges
        && (hit_capacity >= nodes || hit_capacity >= frontier_edges); // no hit is requeued in there
}
