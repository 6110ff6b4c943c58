//go:build cgo

package frontier

import (
	"context"
	"errors"
	"slices"
	"testing"

	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
)

// A replay has no director: if it did not use the recorded words, the job would stay at its first level or run others.
func TestARecordedJobRunsAgainWithoutADirector(t *testing.T) {
	for _, narrow := range []bool{true, false} {
		k := kernelsFor(t, narrow)
		for _, spec := range []string{"kronecker:10", "grid:30x20", "path:150"} {
			r := load(t, k, spec)
			want := graph.BFS(r.pair.Out, 3)
			for _, topology := range topologies {
				job := Job{Sources: []uint32{3}, Topology: topology, Geometry: Geometry{Width: 64}}
				if topology == policy.TopologyMemoryConstrained {
					job.HitCapacity = 40 // levels of several passes
				}
				rec, err := r.Record(context.Background(), job)
				if err != nil {
					t.Fatalf("%s, %v: %v", spec, topology, err)
				}
				if _, err := r.Run(context.Background(), Job{Sources: []uint32{9}, Geometry: job.Geometry}); err != nil {
					t.Fatal(err) // this run leaves other words behind
				}
				got, err := r.Replay(context.Background(), rec, false)
				if err != nil || !slices.Equal(got.Values, want) || int(got.Rounds) != rec.rounds {
					t.Errorf("narrow %v, %s, %v: %d rounds of %d, %v", narrow, spec, topology, got.Rounds, rec.rounds, err)
				}
				again, err := r.Rerun(context.Background(), rec, false)
				if err != nil || !slices.Equal(again.Values, want) || again.Rounds != got.Rounds || len(again.Levels) != int(rec.last) {
					t.Errorf("narrow %v, %s, %v, with its director: %d rounds of %d, %d levels of %d, %v", narrow, spec, topology, again.Rounds, got.Rounds, len(again.Levels), rec.last, err)
				}
			}
		}
	}
}

func TestOnlyLevelsThatTheDeviceDecidesAreRecorded(t *testing.T) {
	r := load(t, newKernels(t), "path:5")
	for name, job := range map[string]Job{
		"another semiring":    {Semiring: Components},
		"decided on the host": {Decide: func(View) (policy.Topology, error) { return policy.TopologySparse, nil }},
		"timed":               {Timed: true},
	} {
		if _, err := r.Record(context.Background(), job); !errors.Is(err, ErrJob) {
			t.Errorf("%s: %v", name, err)
		}
	}
	rec, err := r.Record(context.Background(), Job{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Replay(context.Background(), rec, false); err != nil || len(got.Values) != 5 {
		t.Errorf("without sources: %v, %v", got.Values, err)
	}
}
