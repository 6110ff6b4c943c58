package policy

// edgeBounds places the work of pushing a frontier, its out-edges, between two
// bounds:
//
//	sparse  up to 1/18 of the vertices: push. The other walks look at every
//	        vertex, which such a frontier is not worth
//	hybrid  above that, up to 1/15 of the unexplored edges: push, spread over
//	        edges instead of vertices
//	dense   above both: pull. Most unexplored vertices find a parent within
//	        a few edges, far fewer than a push would follow
//
// The constants are those of Beamer, Asanovic and Patterson,
// "Direction-Optimizing Breadth-First Search", SC 2012, and of the GAP
// benchmark suite, which goes back when the frontier's vertices fall below
// 1/18. Counting its out-edges there too changes two things. A narrow frontier
// of heavy vertices, the decisive level of a power-law graph, is dense at
// once; and the last levels of a grid or a path, whose few edges are many
// beside the few left unexplored, stay sparse, without having to remember
// whether the frontier grows.
//
// Only the lower bound ends a dense walk, so the upper one cannot make it flap,
// and sparse is left a band above the lower bound. The unit is edges, and at
// least one for each vertex of the frontier.
type edgeBounds struct {
	work   uint64
	sparse uint64 // most work that is sparse
	rise   uint64 // most work at which a sparse walk is kept
	dense  uint64 // most work that is not dense, at least sparse
}

func newEdgeBounds(cfg *Config, req *Request) edgeBounds {
	divisor := max(uint32(cfg.SparseNodeDivisor), 1)
	sparse := uint64(req.GraphNodeCount / divisor)
	return edgeBounds{
		work:   max(req.FrontierOutDegreeSum, uint64(req.FrontierNodes)),
		sparse: sparse,
		rise:   sparse + sparse*uint64(cfg.EdgeHysteresisBps)/FullBps,
		dense:  max(req.UnexploredEdges/max(uint64(cfg.DenseEdgeDivisor), 1), sparse),
	}
}

// raw is the walk that the work asks for; wide is dense or fused.
func (b *edgeBounds) raw(wide Topology) Topology {
	switch {
	case b.work <= b.sparse:
		return TopologySparse
	case b.work <= b.dense:
		return TopologyHybrid
	default:
		return wide
	}
}

// stabilise keeps a sparse walk inside the band and a dense one above the
// lower bound.
func (b *edgeBounds) stabilise(raw, prev, wide Topology) Topology {
	switch {
	case prev == TopologySparse && b.work <= b.rise:
		return TopologySparse
	case (prev == TopologyDense || prev == TopologyFused) && b.work > b.sparse:
		return wide
	}
	return raw
}

// reason says at which work the topology is left again.
func (b *edgeBounds) reason(topology Topology, r *Reason) {
	switch topology {
	case TopologySparse:
		r.Rule = RuleSparseEdges
		r.leavesAbove(b.work, b.rise)
	case TopologyHybrid:
		r.Rule = RuleHybridEdges
		if b.work-b.sparse <= b.dense+1-b.work {
			r.leavesBelow(b.work, b.sparse+1)
		} else {
			r.leavesAbove(b.work, b.dense)
		}
	case TopologyDense:
		r.Rule = RuleDenseEdges
		r.leavesBelow(b.work, b.sparse+1)
	case TopologyFused:
		r.Rule = RuleFusedEdges
		r.leavesBelow(b.work, b.sparse+1)
	}
}
