package health

import (
	"strings"
	"testing"
	"time"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/decided"
)

var now = time.Date(2026, 11, 23, 3, 0, 14, 0, time.UTC)

// well is a node of which nothing is wrong, although it has some trouble that passes.
func well() worker.Reading {
	r := worker.Reading{At: now, Worker: "gpu0", BeatAt: now.Add(-time.Second)}
	r.Ring = &worker.RingUse{Pages: 8}
	r.Connection.State = "connected"
	r.Fleet.Role, r.Fleet.Owner = worker.RoleExecuteOnly, "decider"
	r.Fleet.Stored = &decided.Stats{}
	r.Streams = []natsio.StreamUse{{Name: "RINGMASTER_WORK", Bytes: 98, MaxBytes: 100, Refuses: true}, {Name: "RINGMASTER_DECIDED", Bytes: 100, MaxBytes: 100}}
	r.Unstored = []actors.Unstored{{Worker: "gpu0", Queue: "q", Standing: actors.Standing{State: actors.StandsInDoubt, Since: now.Add(-time.Second)}}}
	r.Queues = []actors.QueueStatus{
		{Worker: "gpu0", Queue: "a", SlotsPending: 5},
		{Worker: "gpu0", Queue: "b", SlotsPending: 5, Halted: true},
		{Worker: "elsewhere", Queue: "c", SlotsPending: 5},
	}
	return r
}

func TestReasons(t *testing.T) {
	if r := well(); len(Ready(&r)) != 0 || len(Live(&r)) != 0 {
		t.Fatalf("nothing is wrong, and ready says %v, live %v", Ready(&r), Live(&r))
	}
	for _, c := range []struct {
		code, text string
		change     func(r *worker.Reading)
	}{
		{Stopping, "takes nothing new", func(r *worker.Reading) { r.Closing = true }},
		{BusAway, "NATS does not answer since 03:00:00Z (14s) (Authorization Violation)", func(r *worker.Reading) {
			r.Connection.State, r.Connection.Since, r.Connection.LastError = "disconnected", now.Add(-14*time.Second), "Authorization Violation"
		}},
		{NotWritable, "RINGMASTER_WORK is full: 99 of 100 bytes", func(r *worker.Reading) { r.Streams[0].Bytes = 99 }},
		{NotWritable, "decisions are not stored: no room", func(r *worker.Reading) { r.Fleet.Stored.Problem = "no room" }},
		{NotWritable, "of 1 queues are not stored, the first is gpu0.q since 03:00:09Z (5s): no answer", func(r *worker.Reading) {
			r.Unstored[0].Since, r.Unstored[0].Why = now.Add(-unstoredAfter), "no answer"
		}},
		{DeviceLost, "lost since 03:00:12Z (2s)", func(r *worker.Reading) { r.Ring.Lost = now.Add(-2 * time.Second) }},
		{Stopped, "all 2 queues with work are stopped, for instance: 8 launches failed", func(r *worker.Reading) {
			r.Queues[0].Stopped = true
			r.Queues[1].Recommendation.Error = "8 launches failed"
		}},
		{NoDecider, "no process decides for worker gpu0", func(r *worker.Reading) { r.Fleet.Owner = "" }},
		{Stuck, "has not turned for 11s", func(r *worker.Reading) { r.BeatAt = now.Add(-11 * time.Second) }},
	} {
		r := well()
		c.change(&r)
		why := Ready(&r)
		if len(why) != 1 || why[0].Code != c.code || !strings.Contains(why[0].Text, c.text) {
			t.Errorf("%v, want %s: %s", why, c.code, c.text)
		}
		if live := Live(&r); len(live) != 0 && c.code != Stuck {
			t.Errorf("%s: to be started again because of %v", c.code, live)
		}
	}
	if r := well(); true {
		r.BeatAt = now.Add(-time.Minute)
		if len(Live(&r)) != 1 {
			t.Error("a process that is stuck counts as live")
		}
	}
}
