// The topology of the next level, as Thresholds.Decide computes it, with branches. The resident kernel decides so often that
// its instructions are there, and then branches cost less than to compute all outcomes: with those of decide.glsl a level of
// a grid takes .5 µs longer on an H200.

uint decide_by_edges(uint work, uint unexplored_edges) {
    if (work <= sparse_work) {
        return SPARSE;
    }
    return work <= unexplored_edges && product_at_most(work, work, pull_nodes, unexplored_edges) ? HYBRID : wide;
}

uint decide_by_nodes(uint count) {
    if (count <= sparse_most) {
        return SPARSE;
    }
    return count <= hybrid_most ? HYBRID : wide;
}

uint wide_after(uint prev) { return prev == FUSED ? kept : wide; }

uint held_by_edges(uint raw_topology, uint prev, uint work) {
    if (prev == SPARSE && work <= rise_work) {
        return prev;
    }
    if ((prev == DENSE || prev == FUSED) && work > sparse_work) {
        return wide_after(prev);
    }
    return raw_topology;
}

uint held_by_nodes(uint raw_topology, uint prev, uint count) {
    bool hold = false;
    if (prev == SPARSE) {
        hold = count <= sparse_keep;
    } else if (prev == HYBRID) {
        hold = raw_topology == SPARSE ? count >= hybrid_low : count <= hybrid_high;
    } else if (prev == DENSE || prev == FUSED) {
        bool ends = raw_topology == SPARSE || (raw_topology != HYBRID && full_hysteresis == 0u) || count < dense_keep;
        if (!ends && full_hysteresis != 0u) {
            return wide_after(prev);
        }
        hold = !ends && (prev == DENSE || wide == FUSED);
    }
    return hold ? prev : raw_topology;
}

// decide returns the topology before and after hysteresis.
uvec2 decide(uint count, uint edges_out, uint unexplored_edges, uint prev) {
    uint work = max(edges_out, count);
    if (pressed != 0u) {
        return uvec2(CONSTRAINED);
    }
    uint raw_topology = by_edges != 0u ? decide_by_edges(work, unexplored_edges) : decide_by_nodes(count);
    if (raw_topology == prev) {
        return uvec2(raw_topology);
    }
    if (prev == CONSTRAINED) {
        return uvec2(raw_topology, relaxed == 0u ? prev : raw_topology);
    }
    if (by_edges != 0u) {
        return uvec2(raw_topology, held_by_edges(raw_topology, prev, work));
    }
    return uvec2(raw_topology, held_by_nodes(raw_topology, prev, count));
}
