package graphs

import (
	"context"
	"fmt"
	"slices"

	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
)

// Ways to verify values.
const (
	byReference = "reference" // those of the plain Go algorithm
	byEquations = "equations" // what the device makes of them in one more step, see verifyJoin
)

// VerifiedBy is how values are verified.
func (s *Spec) VerifiedBy() string {
	if s.Join != nil {
		return byEquations
	}
	return byReference
}

// reference computes the values of a pass with the plain Go algorithm.
func (s *Spec) reference(p graph.Pair, pass *Pass) []uint32 {
	switch s.Algorithm {
	case "bfs":
		return graph.BFS(p.Out, pass.Sources[0])
	case "sssp":
		return graph.SSSP(p.Out, pass.Sources[0])
	case "cc":
		return graph.Components(p)
	case "flow":
		return pass.Facts.Values(p.Out)
	}
	return graph.Reach(p.Out, pass.Sources)
}

// VerifyValues compares values with those of the plain Go algorithm.
func (s *Spec) VerifyValues(p graph.Pair, pass *Pass, values []uint32) error {
	want := s.reference(p, pass)
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

// verifyJoin checks that values solve the equations of a join: each node's value is its seed,
// if it is a source, joined with what arrives along all its in-edges from the other values.
// The device computes that in a single level, pulled unless the job itself pulled. Two things
// it cannot show, because only another implementation of the join could: that the driver
// computes the body correctly, and that no smaller values solve the equations too.
func (s *Spec) verifyJoin(ctx context.Context, r *frontier.Graph, g *graph.Graph, pass *Pass, values []uint32) error {
	job := s.job(pass)
	job.From, job.Topology, job.HitCapacity, job.Budget = values, policy.TopologyDense, 0, 0
	if s.Topology == "dense" {
		job.Topology = policy.TopologySparse
	}
	again, err := r.Run(ctx, job)
	if err != nil {
		return fmt.Errorf("one more step of the join, to verify it: %w", err)
	}
	for v, want := range again.Values {
		if values[v] != want {
			return fmt.Errorf("the values do not solve the join's equations: node %d has %d, what it begins with and what arrives make %d. "+
				"Either a better value extends to a worse one, and the outcome depends on the order of arrivals, or the device is wrong",
				g.ID(uint32(v)), values[v], want)
		}
	}
	return nil
}
