package policy

import (
	"math"
	"math/bits"
)

// EdgeRule chooses a walk by the work of pushing the frontier, which is its
// out-edges, and at least one for each of its vertices. Two bounds part it:
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
// and sparse is left a band above the lower bound.
//
// The rule of a graph is the same for all its levels: a director on a device
// is given these three numbers. All are numbers of edges.
type EdgeRule struct {
	SparseMost uint64 // most work that is sparse
	SparseKeep uint64 // most work at which a sparse walk is kept
	PullNodes  uint64 // the factor 4/5·N of HybridMost
}

// EdgeRule derives the rule for a graph of so many vertices.
func (c *Config) EdgeRule(vertices uint32) EdgeRule {
	sparse := uint64(vertices / max(uint32(c.SparseNodeDivisor), 1))
	return EdgeRule{
		SparseMost: sparse,
		SparseKeep: sparse + sparse*uint64(c.EdgeHysteresisBps)/FullBps,
		PullNodes:  uint64(vertices) * uint64(min(c.DenseLookBps, FullBps)) / FullBps,
	}
}

// HybridMost is the most work that is not dense: the lesser of unexplored and
// √(PullNodes·unexplored), and at least SparseMost. Beyond 64 bits the product
// counts as their largest value. Without a root, work is at most that if it is
// at most unexplored and its square at most the product.
func (r *EdgeRule) HybridMost(unexplored uint64) uint64 {
	hi, looks := bits.Mul64(r.PullNodes, unexplored)
	if hi != 0 {
		looks = math.MaxUint64
	}
	return max(min(unexplored, squareRoot(looks)), r.SparseMost)
}

// squareRoot is the largest integer whose square is at most x.
func squareRoot(x uint64) uint64 {
	root := min(uint64(math.Sqrt(float64(x))), math.MaxUint32) // one too many at most
	if root*root > x {
		root--
	}
	return root
}

// Raw is the walk that the work asks for. wide is the walk of a dense
// frontier: dense or fused.
func (r *EdgeRule) Raw(work, unexplored uint64, wide Topology) Topology {
	switch {
	case work <= r.SparseMost:
		return TopologySparse
	case work <= r.HybridMost(unexplored):
		return TopologyHybrid
	default:
		return wide
	}
}

// Stabilise is the walk after hysteresis: it keeps a sparse one inside the
// band and a dense one above the lower bound. wide is the walk of a dense
// frontier that was walked as prev before.
func (r *EdgeRule) Stabilise(raw, prev, wide Topology, work uint64) Topology {
	switch {
	case prev == TopologySparse && work <= r.SparseKeep:
		return TopologySparse
	case (prev == TopologyDense || prev == TopologyFused) && work > r.SparseMost:
		return wide
	default:
		return raw
	}
}

// reason says at which work the topology is left again.
func (r *EdgeRule) reason(topology Topology, work, unexplored uint64, why *Reason) {
	switch topology {
	case TopologySparse:
		why.leavesAbove(RuleSparseEdges, work, r.SparseKeep)
	case TopologyHybrid:
		why.leavesRange(RuleHybridEdges, work, r.SparseMost+1, r.HybridMost(unexplored))
	case TopologyDense:
		why.leavesBelow(RuleDenseEdges, work, r.SparseMost+1)
	case TopologyFused:
		why.leavesBelow(RuleFusedEdges, work, r.SparseMost+1)
	}
}

// frontierWork is the work of pushing the frontier.
func (r *Request) frontierWork() uint64 {
	return max(r.FrontierOutDegreeSum, uint64(r.FrontierNodes))
}
