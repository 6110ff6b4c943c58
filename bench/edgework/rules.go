package edgework

import (
	"fmt"

	"ringmaster/megakernel/policy"
)

// Graph is what a decision knows about the graph itself.
type Graph struct {
	Vertices uint32
	Edges    uint32
}

// GraphOf describes a graph by its rows.
func GraphOf(out Rows) Graph {
	return Graph{Vertices: uint32(out.Vertices()), Edges: uint32(out.Edges())}
}

// Rule chooses how each level is walked: true pulls.
type Rule func(g Graph, levels []Level) ([]bool, error)

// Work is the number of edges looked at by a search that walks its levels as
// the rule says.
func Work(g Graph, levels []Level, rule Rule) (uint64, error) {
	pulls, err := rule(g, levels)
	if err != nil {
		return 0, err
	}
	var work uint64
	for i, l := range levels {
		if pulls[i] {
			work += l.Pull
		} else {
			work += l.Push
		}
	}
	return work, nil
}

// Oracle takes the cheaper way at every level. It knows the cost of both.
func Oracle(_ Graph, levels []Level) ([]bool, error) {
	pulls := make([]bool, len(levels))
	for i, l := range levels {
		pulls[i] = l.Pull < l.Push
	}
	return pulls, nil
}

// AlwaysPush pushes every level.
func AlwaysPush(_ Graph, levels []Level) ([]bool, error) { return make([]bool, len(levels)), nil }

// AlwaysPull pulls every level.
func AlwaysPull(_ Graph, levels []Level) ([]bool, error) {
	pulls := make([]bool, len(levels))
	for i := range pulls {
		pulls[i] = true
	}
	return pulls, nil
}

// GAP is the rule of the GAP benchmark suite: it pulls once the out-edges of
// the frontier exceed a 15th of the unexplored edges, for as long as the
// frontier grows or has more than an 18th of the vertices.
func GAP(g Graph, levels []Level) ([]bool, error) {
	pulls := make([]bool, len(levels))
	pulling, before := false, uint32(0)
	for i, l := range levels {
		if pulling {
			pulling = l.Vertices >= before || l.Vertices > g.Vertices/18
		} else {
			pulling = l.OutEdges > l.Unexplored/15
		}
		before = l.Vertices
		pulls[i] = pulling
	}
	return pulls, nil
}

// Policy decides every level by the policy, from a state without history, and
// carries its hysteresis from level to level. Dense and fused walks pull, the
// others push. With a configuration that does not look at edges this is the
// original's rule, which decides by the share of vertices in the frontier.
func Policy(cfg *policy.Config) Rule {
	return func(g Graph, levels []Level) ([]bool, error) {
		topologies, err := Topologies(cfg, g, levels)
		if err != nil {
			return nil, err
		}
		pulls := make([]bool, len(topologies))
		for i, t := range topologies {
			pulls[i] = t == policy.TopologyDense || t == policy.TopologyFused
		}
		return pulls, nil
	}
}

// Topologies are the policy's decisions for the levels of a search, one after
// another.
func Topologies(cfg *policy.Config, g Graph, levels []Level) ([]policy.Topology, error) {
	topologies := make([]policy.Topology, len(levels))
	prev := policy.TopologyNone
	for i, l := range levels {
		request := policy.Request{
			QueueLen: l.Vertices, GraphNodeCount: g.Vertices, GraphEdgeCount: g.Edges,
			FrontierNodes: l.Vertices, FrontierOutDegreeSum: l.OutEdges, UnexploredEdges: l.Unexplored,
			Present: policy.HasFrontierEdges,
		}
		c, err := policy.Classify(cfg, &request, prev)
		if err != nil {
			return nil, fmt.Errorf("edgework: level %d: %w", i, err)
		}
		topologies[i], prev = c.Topology, c.Topology
	}
	return topologies, nil
}
