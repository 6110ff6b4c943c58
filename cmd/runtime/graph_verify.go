package main

import (
	"fmt"
	"slices"

	"ringmaster/megakernel/graph"
)

// reference is the values of a pass by the plain Go algorithm.
func (c *graphRunCmd) reference(p graph.Pair, pass *graphPass) []uint32 {
	switch c.Algorithm {
	case "bfs":
		return graph.BFS(p.Out, pass.sources[0])
	case "sssp":
		return graph.SSSP(p.Out, pass.sources[0])
	case "cc":
		return graph.Components(p)
	case "flow":
		return pass.facts.Values(p.Out)
	}
	return graph.Reach(p.Out, pass.sources)
}

// verify compares values with those of the plain Go algorithm.
func (c *graphRunCmd) verify(p graph.Pair, pass *graphPass, values []uint32) error {
	want := c.reference(p, pass)
	if slices.Equal(values, want) {
		return nil
	}
	if len(values) != len(want) {
		return fmt.Errorf("the device left %d values, the reference %d", len(values), len(want))
	}
	for v := range want {
		if values[v] != want[v] {
			return fmt.Errorf("the device and the reference differ: node %d has %d, the reference %d", p.Out.ID(uint32(v)), values[v], want[v])
		}
	}
	return nil
}
