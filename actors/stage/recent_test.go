package stage

import (
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/policy"
)

// Runs find what a table finds of the newest decisions, and nothing else, with decisions that
// were lost on the way as gaps.
func TestRecentDecisionsAreFoundExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Recent
		table := make(map[uint64]policy.State)
		newest, made := uint64(0), rapid.IntRange(1, 400).Draw(t, "decisions")
		surely := uint64(1) // the first of the newest MaxRecent
		for i := range made {
			newest += uint64(rapid.SampledFrom([]int{1, 1, 1, 1, 2, 5}).Draw(t, "step"))
			state := policy.State{Plan: policy.PlanState{Groups: rapid.Uint32Range(1, 2).Draw(t, "groups")}}
			r.Add(newest, state)
			table[newest] = state
			if i == made-MaxRecent {
				surely = newest
			}
		}
		for d := range newest + 3 {
			want, known := table[d]
			if got, ok := r.Find(d); ok && (!known || got != want) || !ok && known && d >= surely {
				t.Fatalf("decision %d of %d: %+v %t, want %+v %t", d, newest, got, ok, want, known)
			}
		}
		if len(r) > MaxRecent {
			t.Fatalf("%d runs", len(r))
		}
	})
}
