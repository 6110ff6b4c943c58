package session

import (
	"testing"

	"ringmaster/megakernel/policy"
)

// A queue that is longer than a launch may be has launches of a smaller size. Its
// tuner knows only these, and they are what its decisions have to ask for, the depth
// included.
func TestQueuesDeeperThanALaunchAreTuned(t *testing.T) {
	for _, queue := range []uint32{70_000, 1_000_000, 1 << 30} {
		r := newRig(t, On)
		r.queue = queue
		r.settled()
		r.launches(20)
		perSlot := func(g policy.Geometry) float64 {
			slots := float64(min(queue, g.Depth))
			return cost(g, slots) / slots
		}
		r.plan()
		chosen, best := perSlot(r.by.Given), perSlot(r.ran[0])
		for _, g := range r.ran {
			best = min(best, perSlot(g))
		}
		if ratio := chosen / best; ratio > 1.1 {
			t.Errorf("queue of %d: %+v takes %.2f times what the best launch took", queue, r.by.Given, ratio)
		}
		before := len(r.ran)
		r.speed *= 2
		for r.s.tuners[0].live.Changes() == 0 {
			if len(r.ran) > before+12 {
				t.Errorf("queue of %d: launches take twice as long, and nobody notices", queue)
				break
			}
			r.launch()
		}
	}
}

// With launches in flight the reports of the incumbent come while a look is asked for
// already. Where a depth cuts them, they still belong to the queue's tuner and to no tuner
// of launches of their size.
func TestDeepQueueWithLaunchesInFlightIsExploredByOneTuner(t *testing.T) {
	r := newRig(t, On)
	r.queue = 1 << 20
	var flying []Report
	n := 0
	for ; len(r.s.tuners) == 0 || !r.s.tuners[0].live.Over(); n++ {
		if n > 10_000 {
			t.Fatal("still exploring")
		}
		flying = append(flying, r.report())
		if len(flying) > 3 {
			if _, err := r.s.Observe(&r.env, &flying[0]); err != nil {
				t.Fatal(err)
			}
			flying = flying[1:]
		}
	}
	for _, e := range r.s.tuners {
		if e.bucket != r.s.tuners[0].bucket {
			t.Errorf("a tuner of launches of %d slots, beside that of %d", BucketSlots(e.bucket), BucketSlots(r.s.tuners[0].bucket))
		}
	}
}
