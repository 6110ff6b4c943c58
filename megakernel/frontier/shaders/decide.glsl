// The topology of the next level, as Thresholds.Decide computes it.

// product_at_most says whether a * b <= c * d, in 64 bits.
bool product_at_most(uint a, uint b, uint c, uint d) {
    uint high_ab, low_ab, high_cd, low_cd;
    umulExtended(a, b, high_ab, low_ab);
    umulExtended(c, d, high_cd, low_cd);
    return high_ab < high_cd || (high_ab == high_cd && low_ab <= low_cd);
}

uint decide_by_edges(uint work, uint unexplored) {
    if (work <= job.sparse_work) {
        return SPARSE;
    }
    return work <= unexplored && product_at_most(work, work, job.pull_nodes, unexplored) ? HYBRID : job.wide;
}

uint decide_by_nodes(uint count) {
    if (count <= job.sparse_most) {
        return SPARSE;
    }
    return count <= job.hybrid_most ? HYBRID : job.wide;
}

uint wide_after(uint prev) { return prev == FUSED ? job.kept : job.wide; }

uint held_by_edges(uint raw, uint prev, uint work) {
    if (prev == SPARSE && work <= job.rise_work) {
        return prev;
    }
    if ((prev == DENSE || prev == FUSED) && work > job.sparse_work) {
        return wide_after(prev);
    }
    return raw;
}

uint held_by_nodes(uint raw, uint prev, uint count) {
    bool hold = false;
    if (prev == SPARSE) {
        hold = count <= job.sparse_keep;
    } else if (prev == HYBRID) {
        hold = raw == SPARSE ? count >= job.hybrid_low : count <= job.hybrid_high;
    } else if (prev == DENSE || prev == FUSED) {
        bool ends = raw == SPARSE || (raw != HYBRID && job.full == 0u) || count < job.dense_keep;
        if (!ends && job.full != 0u) {
            return wide_after(prev);
        }
        hold = !ends && (prev == DENSE || job.wide == FUSED);
    }
    return hold ? prev : raw;
}

// decide returns the topology before and after hysteresis.
uvec2 decide(uint count, uint edges, uint unexplored, uint prev) {
    uint work = max(edges, count);
    if (job.pressed != 0u) {
        return uvec2(CONSTRAINED);
    }
    uint raw = job.by_edges != 0u ? decide_by_edges(work, unexplored) : decide_by_nodes(count);
    if (raw == prev) {
        return uvec2(raw);
    }
    if (prev == CONSTRAINED) {
        return uvec2(raw, job.relaxed == 0u ? prev : raw);
    }
    if (job.by_edges != 0u) {
        return uvec2(raw, held_by_edges(raw, prev, work));
    }
    return uvec2(raw, held_by_nodes(raw, prev, count));
}
