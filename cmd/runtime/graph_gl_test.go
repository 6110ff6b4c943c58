//go:build cgo

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestGraphRunOnTheDeviceIsVerified(t *testing.T) {
	requireGL(t)
	for _, args := range []string{
		"bfs --source 107 " + facebook,
		"bfs --source 107 --directed " + facebook,
		"bfs --source 107 --topology dense " + facebook,
		"bfs --source 107 --topology fused --policy reference " + facebook,
		"bfs --source 107 --decide host " + facebook,
		"bfs --source 107 --topology memory-constrained --hit-capacity 64 " + facebook,
		"bfs --source 0 " + caida,
		"cc " + caida,
		"cc --directed " + caida,
		"reach --source 5 --source 26000 --directed " + caida,
		"sssp --source 3 --generate kronecker:8:8 --weights 30",
	} {
		r := graphJSON(t, "", append(append([]string{"run"}, strings.Fields(args)...), "--verify")...)
		if !r.Verified || len(r.Topologies) == 0 || len(r.Levels) != len(r.Topologies) || r.Seconds <= 0 {
			t.Errorf("%s: %+v", args, r)
		}
		if strings.Contains(args, "--topology dense") && slices.ContainsFunc(r.Topologies, func(s string) bool { return s != "dense_frontier" }) {
			t.Errorf("%s: topologies %v", args, r.Topologies)
		}
	}
}

func TestGraphRunListsLevelsAndWhy(t *testing.T) {
	requireGL(t)
	code, out, errs := runGraph("", "run", "bfs", "--source", "0", "--verify", facebook)
	if code != 0 {
		t.Fatal(errs)
	}
	for _, want := range []string{"4,039 nodes, 88,234 edges, undirected", "LEVEL", "dense_frontier_edges: ", "4,039 nodes reached", "edges/s", "verified: all 4,039 values"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestGraphRunFlowOnTheDeviceIsVerified(t *testing.T) {
	requireGL(t)
	rng := rand.New(rand.NewPCG(4, 4))
	var facts strings.Builder
	for v := range 4039 {
		fmt.Fprintf(&facts, "%d gen f%d kill f%d,f%d\n", v, rng.IntN(40), rng.IntN(20), 20+rng.IntN(20))
	}
	file := writeFile(t, "in.facts", facts.String())
	for _, args := range []string{"--directed", "--directed --reverse", "", "--directed --topology fused", "--directed --topology memory-constrained --hit-capacity 64", "--directed --decide host"} {
		r := graphJSON(t, "", append([]string{"run", "flow", "--facts", file, "--verify", facebook}, strings.Fields(args)...)...)
		if !r.Verified || r.Facts != 40 || r.Passes != 2 || len(r.Details) == 0 || r.Details[0].Pass != 1 || r.Details[len(r.Details)-1].Pass != 2 {
			t.Errorf("%s: %+v", args, r)
		}
	}
	if got := flowLines(t, loopEdges, loopFacts, "--directed"); got != flowLines(t, loopEdges, loopFacts, "--directed", "--engine", "reference") {
		t.Errorf("got\n%s", got)
	}
}
