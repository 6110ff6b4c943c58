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
		if b.InFlight < 1 || b.InFlight > pipelined.Sizing.MaxInFlight {
			t.Fatalf("%d in flight", b.InFlight)
		}
		if b.InFlight > 1 && uint64(req.QueueLen) <= uint64(b.InFlight-1)*uint64(b.BatchDepth) {
			t.Fatalf("%d in flight for %d slots, %d a launch", b.InFlight, req.QueueLen, b.BatchDepth)
		}
		b.InFlight = a.InFlight
		if a != b || before != after {
			t.Fatalf("more than the waves in flight changed:\n%+v\n%+v", a, b)
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
