package policy

import (
	"testing"

	"pgregory.net/rapid"
)

func TestPipelinedChangesTheWavesInFlightOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req, prev := anyRequest.Draw(t, "req"), anyState.Draw(t, "prev")
		ref, pipelined := Reference(), withOnly(t, "Pipelined")
		a, before, err := Decide(&ref, &req, prev)
		if err != nil {
			t.Skip("no plan")
		}
		b, after, err := Decide(&pipelined, &req, prev)
		if err != nil {
			t.Fatal(err)
		}
		if a.InFlight != 1 {
			t.Fatalf("the reference has %d launches in flight", a.InFlight)
		}
		if b.InFlight < 1 || b.InFlight > pipelined.Sizing.MaxInFlight || after.Plan.InFlight != b.InFlight {
			t.Fatalf("%d in flight, remembered %d", b.InFlight, after.Plan.InFlight)
		}
		if b.InFlight > 1 && uint64(req.QueueLen)+uint64(b.BatchDepth/8) <= uint64(b.InFlight-1)*uint64(b.BatchDepth) {
			t.Fatalf("%d in flight for %d slots, %d a launch", b.InFlight, req.QueueLen, b.BatchDepth)
		}
		b.InFlight, after.Plan.InFlight = a.InFlight, before.Plan.InFlight
		if a != b || before != after {
			t.Fatalf("more than the waves in flight changed:\n%+v\n%+v", a, b)
		}
	})
}

// A backlog that goes to and fro about a multiple of the depth, by less than the
// band, changes the number once.
func TestWavesInFlightDoNotFlapInsideTheBand(t *testing.T) {
	cfg := Standard()
	rapid.Check(t, func(t *rapid.T) {
		waves := rapid.Uint32Range(1, 2).Draw(t, "waves")
		edge := waves * 65_536
		reqs := repeated(t, smallQueue, func(r *Request) {
			r.QueueLen = rapid.Uint32Range(edge-8_000, edge+8_000).Draw(t, "queue")
		})
		changes, last := 0, uint32(0)
		state := State{Plan: PlanState{InFlight: waves}}
		for i := range reqs {
			rec, next, err := Decide(&cfg, &reqs[i], state)
			if err != nil {
				t.Fatal(err)
			}
			state = next
			changes += count(i > 0 && rec.InFlight != last)
			last = rec.InFlight
		}
		if changes > 1 {
			t.Fatalf("%d changes", changes)
		}
	})
}

func TestAFailingQueueHasOneLaunchInFlight(t *testing.T) {
	for _, c := range []struct {
		allowed  uint32
		failures int
		want     int
	}{{3, 0, 3}, {3, 1, 1}, {1, 5, 1}, {0, 0, 1}} {
		if got := InFlightNow(c.allowed, c.failures); got != c.want {
			t.Errorf("%d allowed, %d failures: %d, want %d", c.allowed, c.failures, got, c.want)
		}
	}
}
