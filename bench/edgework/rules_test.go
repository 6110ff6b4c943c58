package edgework

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/policy"
)

func TestNoRuleLooksAtFewerEdgesThanTheOracle(t *testing.T) {
	standard, original := policy.Standard(), policy.Reference()
	rules := map[string]Rule{
		"push": AlwaysPush, "pull": AlwaysPull, "gap": GAP,
		"standard": Policy(&standard), "original": Policy(&original),
	}
	rapid.Check(t, func(t *rapid.T) {
		g := anyGraph.Draw(t, "graph")
		levels, _, err := Search(g.out, g.in, g.source)
		if err != nil {
			t.Fatal(err)
		}
		least, err := Work(GraphOf(g.out), levels, Oracle)
		if err != nil {
			t.Fatal(err)
		}
		for name, rule := range rules {
			if work, err := Work(GraphOf(g.out), levels, rule); err != nil || work < least {
				t.Fatalf("%s looks at %d edges, the oracle at %d (%v)", name, work, least, err)
			}
		}
	})
}

func TestWorkAddsUpTheChosenWalks(t *testing.T) {
	levels := []Level{{Push: 1, Pull: 1_000}, {Push: 900, Pull: 50}, {Push: 20, Pull: 3}}
	for _, c := range []struct {
		name string
		rule Rule
		want uint64
	}{
		{"push", AlwaysPush, 921},
		{"pull", AlwaysPull, 1_053},
		{"oracle", Oracle, 54},
	} {
		if work, err := Work(Graph{}, levels, c.rule); err != nil || work != c.want {
			t.Errorf("%s: %d (%v), want %d", c.name, work, err, c.want)
		}
	}
}

// The decisive level of a power-law graph has 2 % of the vertices and 45 % of the
// edges. Only a rule that knows the edges pulls it.
func TestOnlyEdgesTellANarrowFrontierOfHeavyVertices(t *testing.T) {
	g := Graph{Vertices: 1 << 20, Edges: 30 << 20}
	levels := []Level{
		{Vertices: 1, OutEdges: 20, Unexplored: 30 << 20},
		{Vertices: 20_000, OutEdges: 14 << 20, Unexplored: 16 << 20},
		{Vertices: 500, OutEdges: 600, Unexplored: 100},
	}
	standard, original := policy.Standard(), policy.Reference()
	for _, c := range []struct {
		name string
		cfg  *policy.Config
		want []policy.Topology
	}{
		{"standard", &standard, []policy.Topology{policy.TopologySparse, policy.TopologyDense, policy.TopologySparse}},
		{"original", &original, []policy.Topology{policy.TopologySparse, policy.TopologySparse, policy.TopologySparse}},
	} {
		got, err := Topologies(c.cfg, g, levels)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v (%v), want %v", c.name, got, err, c.want)
		}
	}
}

// A decision depends on the topology of the level before: 1.2 times the lower bound is sparse after a
// sparse level and dense after a dense one.
func TestDecisionsRememberTheLevelBefore(t *testing.T) {
	g := Graph{Vertices: 18_000, Edges: 1 << 20}
	cfg := policy.Standard()
	narrow, between, broad := Level{Vertices: 1, OutEdges: 10, Unexplored: 1 << 19}, Level{Vertices: 500, OutEdges: 1_200, Unexplored: 0}, Level{Vertices: 9_000, OutEdges: 1 << 19, Unexplored: 1 << 10}
	for _, c := range []struct {
		before Level
		want   policy.Topology
	}{{narrow, policy.TopologySparse}, {broad, policy.TopologyDense}} {
		got, err := Topologies(&cfg, g, []Level{c.before, between})
		if err != nil || got[1] != c.want {
			t.Errorf("behind %+v: %v (%v), want %v", c.before, got, err, c.want)
		}
	}
}
