package policy

import "testing"

func TestHistoryKeepsTheWaysApart(t *testing.T) {
	var h History
	take := func(way Way, n int, slotNs uint64) Measured {
		t.Helper()
		for range n {
			if err := h.Take(way, 1_000, 1_000*slotNs); err != nil {
				t.Fatal(err)
			}
		}
		return h.Measured()
	}
	check := func(what string, m Measured, any, interpreted, compiled, leased uint64) {
		t.Helper()
		got := [...]uint64{m.Any.SlotPs, m.By[WayInterpreted].SlotPs, m.By[WayCompiled].SlotPs, m.By[WayLeased].SlotPs}
		if want := [...]uint64{any * 1_000, interpreted * 1_000, compiled * 1_000, leased * 1_000}; got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	check("nothing", h.Measured(), 0, 0, 0, 0)
	check("a lease", take(WayLeased, 1, 7), 7, 0, 0, 0)
	check("a wave", take(WayInterpreted, 1, 20), 20, 0, 0, 0)
	check("enough of it", take(WayInterpreted, enoughRows-1, 20), 20, 20, 0, 0)
	check("enough leases", take(WayLeased, enoughRows-1, 7), 20, 20, 0, 7)
	check("a compiled kernel", take(WayCompiled, enoughRows, 5), 5, 20, 5, 7)
	if err := h.Take(WayInterpreted, 1_000, 0); err == nil {
		t.Error("a launch that took no time")
	}
	check("an impossible launch", h.Measured(), 5, 20, 5, 7)
	check("long after the others", take(WayCompiled, forgetAfter-2*enoughRows+1, 5), 5, 0, 5, 7)
	check("longer", take(WayCompiled, forgetAfter, 5), 5, 0, 5, 0)
	check("leases alone", take(WayLeased, forgetAfter, 7), 7, 0, 0, 7)
}

func TestKernelsAreComparedAtNoMoreSlotsThanBothRan(t *testing.T) {
	var h History
	take := func(way Way, slots uint64) {
		t.Helper()
		for range enoughRows {
			if err := h.Take(way, slots, 1_000_000); err != nil {
				t.Fatal(err)
			}
		}
	}
	take(WayCompiled, 1_000)
	take(WayLeased, 10)
	if got := h.Measured().WaveSlots; got != 1_000 {
		t.Errorf("one kernel was measured: %d slots", got)
	}
	take(WayInterpreted, 100_000)
	if got := h.Measured().WaveSlots; got != 1_000 {
		t.Errorf("the other kernel had longer launches: %d slots", got)
	}
}

func TestARefusalOfTheLeaseIsForgotten(t *testing.T) {
	var h History
	if h.Measured().LeaseRefused {
		t.Error("nothing was refused")
	}
	h.Refuse()
	if !h.Measured().LeaseRefused {
		t.Error("a refusal before any launch is not known")
	}
	for n := range 2 * forgetAfter {
		if err := h.Take(WayInterpreted, 100, 100_000); err != nil {
			t.Fatal(err)
		}
		if n == forgetAfter/2 {
			h.Refuse()
		}
		if got, want := h.Measured().LeaseRefused, n < forgetAfter/2+forgetAfter; got != want {
			t.Fatalf("after %d launches: %t", n, got)
		}
	}
}

func TestWhatTheHostTakesForAWaveIsKnownOnceBothWaysRanAlone(t *testing.T) {
	var h History
	check := func(what string, want uint64) {
		t.Helper()
		if got := h.Measured().WaveHostNs; got != want {
			t.Errorf("%s: %d ns, want %d", what, got, want)
		}
	}
	check("nothing", 0)
	h.Alone(WayCompiled, 100_000, true)
	check("a wave", 0)
	h.Alone(WayLeased, 30_000, true)
	check("both", 70_000)
	h.Alone(WayInterpreted, 9_000_000, true)
	h.Alone(WayCompiled, 90_000, true)
	check("a disturbed wave", 70_000)
	for range hostRows {
		h.Alone(WayLeased, 200_000, true)
	}
	check("rounds that take longer", 0)
	if got := h.Measured().HostNs; got != 100_000 {
		t.Errorf("the host has to do with a wave for %d ns", got)
	}
	h.Alone(WayCompiled, 90_000, false)
	if got := h.Measured().HostNs; got != 0 {
		t.Errorf("the host, which runs the wave itself, has to do with it for %d ns", got)
	}
}
