package policy

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Beside other queues a launch takes no longer than its turn, as the cost has it, or it is as
// narrow as a launch gets or takes what runs side by side, and one is under way at a time. Alone
// nothing is bounded.
func TestALaunchBesideOthersEndsInItsTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Standard()
		req, prev := anyRequest.Draw(t, "req"), anyState.Draw(t, "prev")
		prev.Plan.TurnSlots = 0
		req.Cost.SlotPs, req.OtherQueues = max(req.Cost.SlotPs, 1), max(req.OtherQueues, 1)
		alone := req
		alone.OtherQueues, alone.TargetMs = 0, 0
		rec, next, err := Decide(&cfg, &req, prev)
		free, _, err2 := Decide(&cfg, &alone, prev)
		if err != nil || err2 != nil {
			t.Skip("no plan")
		}
		turn, _ := turnNs(&cfg, &req)
		if rec.BatchDepth > max(rec.WorkgroupSizeX, cfg.sideBySide(&req.Limits)) && req.Cost.Ns(rec.BatchDepth) > turn {
			t.Fatalf("%d slots take %d ns of %d", rec.BatchDepth, req.Cost.Ns(rec.BatchDepth), turn)
		}
		if rec.InFlight > turnsAhead {
			t.Fatalf("%d in flight", rec.InFlight)
		}
		if req.Cost.Ns(free.BatchDepth) <= turn/2 && rec.BatchDepth != free.BatchDepth && req.Tuned == (Geometry{}) {
			t.Fatalf("depth %d alone takes %d ns of %d, and %d beside others", free.BatchDepth, req.Cost.Ns(free.BatchDepth), turn, rec.BatchDepth)
		}
		if req.QueueLen == 0 {
			return
		}
		alone.Cost = Cost{}
		if same, _, _ := Decide(&cfg, &alone, prev); same != free {
			t.Fatalf("the cost changes the plan of a queue that is alone:\n%+v\n%+v", free, same)
		}
		// There may be no plan, where a walk that leaves memory pressure asks for more hits than 32 bits count.
		if again, _, err := Decide(&cfg, &req, next); err == nil && again.BatchDepth != rec.BatchDepth {
			t.Fatalf("depth %d, then %d", rec.BatchDepth, again.BatchDepth)
		}
	})
}

// An estimate whose noise is ± 20 % changes no depth once it is found.
func TestNoiseOfTheCostChangesNoDepth(t *testing.T) {
	cfg := Standard()
	rapid.Check(t, func(t *rapid.T) {
		req := newCase().req
		req.QueueLen, req.OtherQueues = 65_536, 1
		mean := rapid.Uint64Range(40_000, 60_000_000).Draw(t, "slot ps")
		state, depth, changes := State{}, uint32(0), 0
		for range 200 {
			req.Cost.SlotPs = rapid.Uint64Range(mean*8/10, mean*12/10).Draw(t, "measured")
			rec, next, err := Decide(&cfg, &req, state)
			if err != nil {
				t.Fatal(err)
			}
			if rec.BatchDepth != depth {
				changes++
			}
			state, depth = next, rec.BatchDepth
		}
		if changes > 2 {
			t.Fatalf("%d depths", changes)
		}
	})
}

// A launch that may turn out several times as long as its cost says fits the turn of those who wait.
func TestOnlyALaunchFarBelowItsTurnSparesOthers(t *testing.T) {
	cfg := Standard()
	turn := uint64(cfg.Sizing.TurnUs) * 1_000
	for _, c := range []struct {
		req   Request
		slots uint32
		want  bool
	}{
		{Request{}, 1 << 20, true},
		{Request{OtherQueues: 1}, 1, false}, // its cost is not known
		{Request{OtherQueues: 1, Cost: Cost{SlotPs: turn}}, 1000 / spareTimes, true},
		{Request{OtherQueues: 1, Cost: Cost{SlotPs: turn}}, 1000/spareTimes + 1, false},
		{Request{TargetMs: 1, Cost: Cost{SlotPs: turn}}, 1000 / spareTimes, false},
	} {
		if got := cfg.Spares(&c.req, c.slots); got != c.want {
			t.Errorf("%d slots of %+v beside %d queues, target %d ms: %v", c.slots, c.req.Cost, c.req.OtherQueues, c.req.TargetMs, got)
		}
	}
}

func TestJoins(t *testing.T) {
	standard, reference := Standard(), Reference()
	for _, c := range []struct {
		cfg             *Config
		under           []uint64 // what launches under way take
		had, next, host uint64
		want            bool
	}{
		{&standard, []uint64{25_000}, 0, 25_000, 0, true},
		{&standard, []uint64{25_000, 25_000}, 0, 25_000, 0, true},
		{&standard, []uint64{25_000, 25_000, 25_000}, 0, 25_000, 0, false}, // as many as may ever be under way
		{&standard, []uint64{900_000}, 0, 100_000, 0, true},
		{&standard, []uint64{900_000}, 0, 100_001, 0, false},
		{&standard, []uint64{25_000}, 0, 0, 0, false}, // nobody knows what it takes
		{&standard, []uint64{0}, 25_000, 25_000, 230_000, false},
		{&standard, []uint64{1}, 0, math.MaxUint64, 0, false},
		{&standard, []uint64{math.MaxUint64}, 0, 1, 0, false},
		{&reference, []uint64{25_000}, 0, 25_000, 0, false},

		// The device is free when the host has brought it there.
		{&standard, []uint64{2_000_000}, 1_770_000, 2_000_000, 230_000, true},
		{&standard, []uint64{2_000_000}, 1_769_999, 2_000_000, 230_000, false},
		{&standard, []uint64{2_000_000}, 2_500_000, 2_000_000, 230_000, true}, // it takes longer than expected
		{&standard, []uint64{2_000_000}, 2_500_000, 2_000_000, 0, false},      // nobody knows what the host takes
		{&standard, []uint64{100_000, 2_000_000}, 2_000_000, 2_000_000, 230_000, false},
		{&reference, []uint64{2_000_000}, 2_000_000, 2_000_000, 230_000, false},
	} {
		var under UnderWay
		for _, ns := range c.under {
			under.Begin(ns, c.had)
		}
		if got := c.cfg.Joins(&Candidate{LaunchNs: c.next, HostNs: c.host}, &under); got != c.want {
			t.Errorf("beside launches of %d ns, of which the first has had %d, one of %d with %d of the host: %v", c.under, c.had, c.next, c.host, got)
		}
	}
}
