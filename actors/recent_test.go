package actors

import (
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/policy"
)

// Runs find what a plain table of the last maxRecent decisions would find,
// with decisions that were lost on the way as gaps.
func TestRecentDecisionsAreFoundExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r recentDecisions
		table := make(map[uint64]policy.State)
		newest := uint64(0)
		for range rapid.IntRange(1, 400).Draw(t, "decisions") {
			newest += uint64(rapid.SampledFrom([]int{1, 1, 1, 1, 2, 5}).Draw(t, "step"))
			state := policy.State{Plan: policy.PlanState{Groups: rapid.Uint32Range(1, 2).Draw(t, "groups")}}
			r.add(newest, state)
			table[newest] = state
		}
		for d := range newest + 3 {
			want, known := table[d]
			known = known && d+maxRecent > newest
			if got, ok := r.find(d); ok != known || ok && got != want {
				t.Fatalf("decision %d of %d: %+v %t, want %+v %t", d, newest, got, ok, want, known)
			}
		}
		if len(r.runs) > maxRecent {
			t.Fatalf("%d runs", len(r.runs))
		}
	})
}
