package policy

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The line is found although each time is off by 10 % and an eighth of them are from a
// clock that jumped.
func TestTheCostIsFoundAmongJumpsOfTheClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slot := rapid.Float64Range(1, 1e5).Draw(t, "slot")
		start := slot * rapid.Float64Range(0, 8).Draw(t, "start in slots")
		jumped := make(map[int]bool)
		for len(jumped) < costRows/8 {
			jumped[rapid.IntRange(0, costRows-1).Draw(t, "jumped")] = true
		}
		var c Costs
		for i := range costRows {
			slots := uint64(1) << (i % 12)
			ns := (start + slot*float64(slots)) * rapid.Float64Range(.9, 1.1).Draw(t, "noise")
			if jumped[i] {
				ns = rapid.Float64Range(1e4, longestLaunchNs-1).Draw(t, "jump")
			}
			if err := c.Take(slots, uint64(ns)+1); err != nil {
				t.Fatal(err)
			}
		}
		cost := c.Estimate()
		want := start + slot*2_048
		if got := float64(cost.Ns(2_048)); got < want/2 || got > 2*want {
			t.Fatalf("2,048 slots take %.0f ns, want %.0f: %+v", got, want, cost)
		}
	})
}

func TestLaunchesOfOneSizeCostBySlots(t *testing.T) {
	var c Costs
	for range 20 {
		if err := c.Take(256, 6_400_000); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := c.Estimate(), (Cost{SlotPs: 25_000_000}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := (&Costs{}).Estimate(); got != (Cost{}) {
		t.Errorf("%+v without launches", got)
	}
}

// A first launch that was interrupted for a minute is forgotten with the sixteenth after it.
func TestTheCostFollowsTheNewestLaunches(t *testing.T) {
	var c Costs
	for range costRows {
		_ = c.Take(16, longestLaunchNs)
	}
	for range costRows {
		_ = c.Take(16, 16_000)
	}
	if got, want := c.Estimate(), (Cost{SlotPs: 1_000_000}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestLaunchesThatCannotBeTrueAreRefused(t *testing.T) {
	for _, row := range []struct {
		slots, ns uint64
		want      error
	}{
		{0, 1, ErrNoSlots}, {math.MaxUint32 + 1, 1, ErrNoSlots}, {1, 0, ErrLaunchTime}, {1, longestLaunchNs + 1, ErrLaunchTime},
		{1, math.MaxUint64, ErrLaunchTime}, {1_001, 1, ErrLaunchTime}, {1_000, 1, nil}, {1, longestLaunchNs, nil},
	} {
		var c Costs
		if err := c.Take(row.slots, row.ns); !errors.Is(err, row.want) {
			t.Errorf("%d slots in %d ns: %v, want %v", row.slots, row.ns, err, row.want)
		} else if err != nil && c != (Costs{}) {
			t.Errorf("%d slots in %d ns changed something", row.slots, row.ns)
		}
	}
}

func TestCostsSaturate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Cost{LaunchNs: rapid.Uint64().Draw(t, "launch"), SlotPs: rapid.Uint64().Draw(t, "slot")}
		slots := rapid.Uint32().Draw(t, "slots")
		if c.Ns(slots) < c.LaunchNs || slots > 0 && c.Ns(slots) < c.Ns(slots-1) {
			t.Fatalf("%+v: %d slots take %d ns", c, slots, c.Ns(slots))
		}
		ns := rapid.Uint64().Draw(t, "ns")
		if n := c.slotsIn(ns); n == 0 || n > 1 && n < math.MaxUint32 && c.Ns(n) > ns {
			t.Fatalf("%+v: %d slots in %d ns", c, n, ns)
		}
	})
}

func TestCostsDoNotAllocate(t *testing.T) {
	var c Costs
	if n := testing.AllocsPerRun(100, func() {
		_ = c.Take(uint64(sink%1000+1), 5_000)
		sink += uint32(c.Estimate().SlotPs)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
