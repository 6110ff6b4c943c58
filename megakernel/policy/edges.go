package policy

import (
	"math"
	"math/bits"
)

// edgeBounds places the work of pushing a frontier, its out-edges, between two
// bounds:
//
//	sparse  up to 1/18 of the vertices: push. The other walks look at every
//	        vertex, which such a frontier is not worth
//	hybrid  above that, up to what a pull would look at: push, spread over
//	        edges instead of vertices
//	dense   above both: pull. Most unexplored vertices find a parent within
//	        a few edges, far fewer than a push would follow
//
// A pull looks at no more than the unexplored edges, and at each unexplored
// vertex stops at the first parent in the frontier. If F of E edges leave the
// frontier of a graph of N vertices, that is after E/F looks on average, and
// U unexplored edges belong to N·U/E vertices: N·U/F looks in all. Measured
// pulls of power-law graphs, whose unexplored vertices are fewer and light,
// make it 4/5 of that. So a push is dearer once F exceeds U or √(4/5·N·U),
// whichever is less.
//
// The first constant and the way to count are those of Beamer, Asanovic and
// Patterson, "Direction-Optimizing Breadth-First Search", SC 2012. Their upper
// bound, 1/15 of the unexplored edges, leaves the early exit out: on a graph
// without hubs it pulls a level too early, at up to six times the work. And
// they count vertices at the lower bound. Counting its out-edges there too
// changes two things. A narrow frontier of heavy vertices, the decisive level
// of a power-law graph, is dense at once; and the last levels of a grid or a
// path, whose few edges are many beside the few left unexplored, stay sparse,
// without having to remember whether the frontier grows.
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
	b := edgeBounds{
		work:   max(req.FrontierOutDegreeSum, uint64(req.FrontierNodes)),
		sparse: sparse,
		rise:   sparse + sparse*uint64(cfg.EdgeHysteresisBps)/FullBps,
		dense:  sparse,
	}
	if b.work > sparse { // below, nothing asks for it
		b.dense = max(cfg.pullLooks(req.GraphNodeCount, req.UnexploredEdges), sparse)
	}
	return b
}

// PullNodes is the factor of the unexplored edges in the square of the work
// from which a walk is dense: the vertices of the graph, scaled by
// DenseLookBps.
func (c *Config) PullNodes(vertices uint32) uint32 {
	return uint32(uint64(vertices) * uint64(min(c.DenseLookBps, FullBps)) / FullBps)
}

// pullLooks is the work above which a pull looks at fewer edges than a push.
// Beyond 64 bits the product counts as their largest value.
func (c *Config) pullLooks(vertices uint32, unexplored uint64) uint64 {
	hi, lo := bits.Mul64(uint64(c.PullNodes(vertices)), unexplored)
	if hi != 0 {
		lo = math.MaxUint64
	}
	return min(unexplored, squareRoot(lo))
}

// squareRoot is the largest integer whose square is at most x.
func squareRoot(x uint64) uint64 {
	root := min(uint64(math.Sqrt(float64(x))), math.MaxUint32) // one too many at most
	if root*root > x {
		root--
	}
	return root
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
