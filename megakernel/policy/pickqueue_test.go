package policy

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestPickQueuePrefersPriorityAmongThoseWithWork(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		candidates []Candidate
		want       int
	}{
		"none":                       {nil, -1},
		"no work":                    {[]Candidate{{Priority: 9}}, -1},
		"highest":                    {[]Candidate{{1, 0, 1, 1}, {3, 0, 1, 1}, {2, 0, 1, 1}}, 1},
		"highest without work":       {[]Candidate{{1, 0, 1, 1}, {3, 0, 0, 1}, {2, 0, 1, 1}}, 2},
		"negative":                   {[]Candidate{{-3, 0, 1, 1}, {-2, 0, 1, 1}}, 1},
		"equal, longest wait":        {[]Candidate{{1, 2, 1, 1}, {1, 3, 1, 1}, {1, 3, 1, 1}}, 1},
		"age outweighs the spread":   {[]Candidate{{1e9, 0, 1, 1}, {0, AgeLaunches, 1, 1}}, 1},
		"age is not yet enough":      {[]Candidate{{1e-9, 0, 1, 1}, {0, AgeLaunches - 1, 1, 1}}, 0},
		"NaN is lowest":              {[]Candidate{{nan, 0, 1, 1}, {-5, 0, 1, 1}, {-4, 0, 1, 1}}, 2},
		"only NaN":                   {[]Candidate{{nan, 0, 1, 1}}, 0},
		"largest numbers":            {[]Candidate{{-math.MaxFloat64, 0, 1, 1}, {math.MaxFloat64, 0, 1, 1}}, 1},
		"infinite":                   {[]Candidate{{5, 0, 1, 1}, {inf, 0, 1, 1}}, 1},
		"idle ones do not set scale": {[]Candidate{{1, 8, 1, 1}, {2, 0, 1, 1}, {1e9, 0, 0, 1}}, 1},
	} {
		if got := PickQueue(c.candidates); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

// Whatever the priorities do, and however work comes and goes, a queue that
// has had work since it last ran waits at most AgeLaunches + n - 1 launches.
func TestPickQueueStarvesNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		victim := rapid.IntRange(0, n-1).Draw(t, "victim")
		priority := rapid.OneOf(rapid.Float64Range(-1e9, 1e9), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.MaxFloat64}))
		queues := make([]Candidate, n)
		for i := range queues {
			queues[i].Waited = rapid.Uint64Range(0, 100).Draw(t, "waited before")
		}
		queues[victim] = Candidate{Priority: math.Inf(-1), Pending: 1}
		for range 4 * (AgeLaunches + n) {
			for i := range queues {
				if i != victim {
					queues[i].Priority = priority.Draw(t, "priority")
					queues[i].Pending = rapid.IntRange(0, 1).Draw(t, "pending")
				}
			}
			picked := PickQueue(queues)
			if queues[picked].Pending == 0 {
				t.Fatalf("picked %d, which has no work", picked)
			}
			for i := range queues {
				queues[i].Waited++
			}
			queues[picked].Waited = 0
			if w := queues[victim].Waited; w > uint64(AgeLaunches+n-1) {
				t.Fatalf("waited %d launches among %d queues", w, n)
			}
		}
	})
}
