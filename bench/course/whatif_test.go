package course

import (
	"math"
	"testing"
	"time"

	"ringmaster/bench/course/interval"
	"ringmaster/cmd/runtime/whatif"
	"ringmaster/megakernel/policy"
)

func auditing() policy.Config {
	cfg := policy.Standard()
	cfg.AuditLaunches = auditsOf
	return cfg
}

// Every neighbour has one turn in a round, after one of the usual geometry.
func TestNeighboursTakeTurns(t *testing.T) {
	s := newSwitchback(auditing(), time.Second, 7)
	orders := make(map[[6]uint64]bool)
	for round := range 20 {
		var order [6]uint64
		seen := make(map[uint64]bool)
		for i := range order {
			turn := 2 * (round*len(order) + i)
			if d := s.draw(turn); d != policy.Usual {
				t.Fatalf("turn %d is one of %d", turn, d)
			}
			order[i] = s.draw(turn + 1)
			seen[order[i]] = true
		}
		if len(seen) != len(policy.MoveNames()) {
			t.Fatalf("round %d has %v", round, order)
		}
		orders[order] = true
	}
	if len(orders) < 10 {
		t.Errorf("20 rounds have %d orders", len(orders))
	}
}

// What a turn decides is what its draw asks for, and a plan like any other.
func TestATurnsPlanIsTheNeighbour(t *testing.T) {
	cfg := auditing()
	req := policy.Request{QueueLen: 100_000, Cost: policy.Cost{LaunchNs: 10_000, SlotPs: 1_000}, Limits: policy.Limits{
		MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32, Units: 132, UnitLanes: 2048}}
	usual, _, err := policy.Decide(&cfg, &req, policy.State{})
	if err != nil {
		t.Fatal(err)
	}
	s := newSwitchback(cfg, time.Hour, 1)
	s.began = time.Now().Add(-time.Hour) // the second turn
	plan, _, hold, err := s.decide("q", &req, policy.State{})
	if err != nil || hold != 0 || req.Draw != s.draw(1) {
		t.Fatalf("draw %d, held for %v, %v", req.Draw, hold, err)
	}
	if plan.Geometry() == usual.Geometry() || plan.Audited() {
		t.Errorf("%v, audited %v; the usual is %v", plan.Geometry(), plan.Audited(), usual.Geometry())
	}
}

// Launches count for the turn that decided them, if they ran in it, beside launches of their size; the first round does
// not count.
func TestTurnsArePaired(t *testing.T) {
	s := newSwitchback(auditing(), time.Second, 1)
	second := 2 * len(s.draws) // the first turn of the second round
	draw := s.draw(second + 1)
	s.launches["q"] = []turnLaunch{
		{1, 0, 100, 1}, {2, 1, 100, 1},
		{3, second, 100, 500}, {3, second, 100, 700}, {3, second + 1, 100, 90_000},
		{3, second, 1000, 2_000}, {3, second, 10, 70_000},
		{4, second + 1, 80, 960}, {4, second + 1, 120, 1_440}, {4, second + 1, 5_000, 1},
		{4, second + 1, 600, 1_800},
	}
	got := s.pairs("q", map[uint64]uint64{1: policy.Usual, 2: s.draw(1), 3: policy.Usual, 4: draw})
	if len(got) != 1 || len(got[draw]) != 1 || got[draw][0] != [2]float64{200*12 + 1000*3, 1_200 + 2_000} {
		t.Errorf("%v", got)
	}
}

func TestAnEstimateHolds(t *testing.T) {
	for _, c := range []struct {
		low, ratio, high float64
		ranLow, ran      float64
		ranHigh          float64
		want             bool
	}{
		{0.9, 1, 1.1, 1.05, 1.05, 1.05, true},
		{0.9, 1, 1.1, 1.2, 1.2, 1.2, false},
		{0.9, 1, 1.1, 1.0, 1.2, 1.4, true},
		{0.9, 1, 1.1, 0.8, 0.8, 0.9, false},
		{0.9, 1, 1.1, 0.8, 0.8, 1.1, true}, // .22 below, .11 and .32 to spare
	} {
		a := Alternative{Answer: whatif.Answer{Ratio: c.ratio, Low: c.low, High: c.high}, Ran: interval.Ratio{Mean: c.ran, Low: c.ranLow, High: c.ranHigh, Pairs: 9}}
		if a.Holds() != c.want || math.Abs(a.Off()-math.Abs(c.ratio/c.ran-1)) > 1e-12 || !a.Compared() {
			t.Errorf("%+v: %v, off by %v", c, a.Holds(), a.Off())
		}
	}
}
