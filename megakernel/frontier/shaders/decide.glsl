// The topology of the next level, as Thresholds.Decide computes it. All outcomes are computed and the right one is
// picked, because a single invocation takes longer to branch.

uint decide_by_edges(uint work, uint unexplored_edges) {
    bool less = product_at_most(work, work, pull_nodes, unexplored_edges);
    return pick(work <= sparse_work, SPARSE, pick(work <= unexplored_edges && less, HYBRID, wide));
}

uint decide_by_nodes(uint count) {
    return pick(count <= sparse_most, SPARSE, pick(count <= hybrid_most, HYBRID, wide));
}

uint wide_after(uint prev) { return pick(prev == FUSED, kept, wide); }

uint held_by_edges(uint raw_topology, uint prev, uint work) {
    bool stays = prev == SPARSE && work <= rise_work;
    bool widens = (prev == DENSE || prev == FUSED) && work > sparse_work;
    return pick(stays, prev, pick(widens, wide_after(prev), raw_topology));
}

uint held_by_nodes(uint raw_topology, uint prev, uint count) {
    bool full = full_hysteresis != 0u;
    bool ends = raw_topology == SPARSE || (raw_topology != HYBRID && !full) || count < dense_keep;
    bool goes_on = (prev == DENSE || prev == FUSED) && !ends;
    bool hold = prev == SPARSE && count <= sparse_keep;
    hold = hold || (prev == HYBRID && raw_topology == SPARSE && count >= hybrid_low);
    hold = hold || (prev == HYBRID && raw_topology != SPARSE && count <= hybrid_high);
    hold = hold || (goes_on && (prev == DENSE || wide == FUSED));
    return pick(goes_on && full, wide_after(prev), pick(hold, prev, raw_topology));
}

// hold is the topology after hysteresis, given that before it and that of the level before.
uint hold(uint raw_topology, uint prev, uint count, uint work) {
    uint held = pick(by_edges != 0u, held_by_edges(raw_topology, prev, work), held_by_nodes(raw_topology, prev, count));
    held = pick(prev == CONSTRAINED, pick(relaxed == 0u, prev, raw_topology), held);
    return pick(raw_topology == prev, prev, held);
}

// decide returns the topology before and after hysteresis.
uvec2 decide(uint count, uint edges_out, uint unexplored_edges, uint prev) {
    uint work = max(edges_out, count);
    uint raw_topology = pick(by_edges != 0u, decide_by_edges(work, unexplored_edges), decide_by_nodes(count));
    uint held = hold(raw_topology, prev, count, work);
    return uvec2(pick(pressed != 0u, CONSTRAINED, raw_topology), pick(pressed != 0u, CONSTRAINED, held));
}
