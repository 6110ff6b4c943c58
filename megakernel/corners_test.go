//go:build cgo

package megakernel

import (
	"errors"
	"math"
	"sync"
	"testing"

	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

// Corners in which a batch was once lost, told twice, or waited for in vain.

func TestLeaseRunsNoSlotTwiceWhenALaterOneIsTooLong(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.Lease, c.Catalog = true, testOpcodes(t) })
	if _, err := e.LeaseSupport(); err != nil {
		t.Fatal(err)
	}
	var slots []ring.Slot
	for range 64 {
		slots = append(slots, slot(kernel.OpAdd, 0, 1, 7))
	}
	slots = append(slots, slot(opSpin, 0, 20000))
	submit(t, e, "q", Batch{ID: "b", Slots: slots})
	for i := 0; e.Pending("q") > 0 && i < 10; i++ {
		if _, err := e.Launch(Order{Queue: "q", Geometry: testGeometry, Mode: ModeLease}); err != nil {
			t.Error(err)
		}
	}
	got := make([]uint32, 1)
	if err := e.Read("q", 7, got); err != nil || got[0] != 64 {
		t.Errorf("64 adds of 1 made %d (%v)", got[0], err)
	}
	if _, err := e.LeaseSupport(); err != nil {
		t.Errorf("the lease was given up: %v", err)
	}
}

func TestCloseDuringMoveEndsBoth(t *testing.T) {
	dev := &faultyDevice{Device: openDevice(t), hold: make(chan struct{})}
	e, err := New(dev, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	submit(t, e, "q", Batch{Slots: nops(16, 2)})
	if _, err := e.Start(Order{Queue: "q", Geometry: testGeometry}); err != nil {
		t.Fatal(err)
	}
	moved, closed := make(chan error, 1), make(chan error, 1)
	go func() { moved <- e.Move(openDevice(t)) }()
	for {
		e.mu.Lock()
		m := e.moving
		e.mu.Unlock()
		if m {
			break
		}
	}
	go func() { closed <- e.Close() }()
	for {
		e.mu.Lock()
		c := e.closed
		e.mu.Unlock()
		if c {
			break
		}
	}
	close(dev.hold)
	if err := <-moved; err != nil && !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	e.Pending("q") // the engine's lock is free
}

func TestAHugeRateIsARateAndAnInfiniteOneIsRefused(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	if err := e.Configure("q", QueueOptions{Rate: math.Inf(1)}); err == nil {
		t.Error("an infinite rate was taken")
	}
	if err := e.Configure("q", QueueOptions{Rate: 1e19}); err != nil {
		t.Fatal(err)
	}
	submit(t, e, "q", Batch{Slots: nops(16, 2)})
	if r := launch(t, e, Order{Queue: "q", Geometry: testGeometry}); r.Executed != 16 {
		t.Errorf("%d executed, %q", r.Executed, r.NotApplied)
	}
}

func TestFaultsOfABatchFromLaunchesSideBySideAreAllKept(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.Lease = true; c.InFlight = 4 })
	const n = 4096
	for round := range 20 {
		var slots []ring.Slot
		for range n {
			slots = append(slots, slot(kernel.OpFault, 0, 1))
		}
		submit(t, e, "q", Batch{ID: "b", Slots: slots})
		var wg sync.WaitGroup
		var mu sync.Mutex
		var done []BatchResult
		for range 4 {
			wg.Go(func() {
				for e.Pending("q") > 0 {
					r, err := e.Launch(Order{Queue: "q", Geometry: testGeometryAt(256), Mode: ModeLease})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					done = append(done, r.Finished...)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(done) != 1 || len(done[0].Faults) != n {
			t.Fatalf("round %d: %d batches, %d faults of %d", round, len(done), len(done[0].Faults), n)
		}
	}
}

func TestPageThatDoesNotFitBesideUrgentOnesRuns(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.Catalog = testOpcodes(t) })
	low := slot(opSpin, 4, 32768)
	submit(t, e, "q", Batch{ID: "low", Slots: []ring.Slot{low}})
	for range 200 {
		submit(t, e, "q", Batch{ID: "high", Slots: []ring.Slot{slot(opWhirl, 0, 32768)}})
		r := launch(t, e, Order{Queue: "q", Geometry: testGeometry})
		for _, b := range r.Finished {
			if b.ID == "low" {
				return
			}
		}
	}
	t.Errorf("never ran in 200 waves, the ageing threshold is %d", e.cfg.AgeThreshold)
}

func TestErrorBetweenRoundsOfALeaseRunsNothingTwice(t *testing.T) {
	for shift := range 4 {
		dev := &faultyDevice{Device: openDevice(t)}
		e := newEngine(t, dev, func(c *Config) { c.Lease = true })
		launchAll := func() {
			for i := 0; e.Pending("q") > 0 && i < 20; i++ {
				_, _ = e.Launch(Order{Queue: "q", Geometry: testGeometry, Mode: ModeLease}) // one of them fails
			}
		}
		adds := uint32(0)
		round := func(copies int) []ring.Slot {
			var slots []ring.Slot
			for range 16 {
				slots = append(slots, slot(kernel.OpAdd, 0, 1, 7))
				adds++
			}
			for i := range copies {
				slots = append(slots, slot(kernel.OpCopy, 0, 4096, 8192+uint32(i), 1024))
			}
			return slots
		}
		for range shift {
			submit(t, e, "q", Batch{Slots: round(100)})
			launchAll()
		}
		base := dev.dispatches
		dev.failAt = func(n int) bool { return n == base+2 }
		for range 6 {
			submit(t, e, "q", Batch{Slots: round(240)})
			launchAll()
		}
		got := make([]uint32, 1)
		if err := e.Read("q", 7, got); err != nil || got[0] != adds {
			t.Errorf("shift %d: %d adds made %d (%v)", shift, adds, got[0], err)
		}
	}
}
