package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ringmaster/telemetry"
)

// Whatever order launches come back in and whichever of them fail: hysteresis is
// what settling them one after the other in the order of their starts makes of it,
// each batch is settled once, and the books balance.
func TestAnyOrderOfLandingsSettlesAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(withoutDeadline{t}, func(t *rapid.T) { anyLandings(t) })
	})
}

func anyLandings(t *rapid.T) {
	d := newDepthTrial(t)
	defer func() { d.system.Close(); synctest.Wait() }()
	for steps := rapid.IntRange(5, 40).Draw(t, "steps"); steps > 0; steps-- {
		switch n := d.underWay(); {
		case n == 0 || rapid.IntRange(0, 3).Draw(t, "what") == 0:
			d.submit(rapid.IntRange(1, 1500).Draw(t, "slots"))
		default:
			d.land(rapid.IntRange(0, n-1).Draw(t, "which"), rapid.IntRange(0, 3).Draw(t, "fail") == 0)
		}
		if rapid.Bool().Draw(t, "pause") {
			pass(3 * time.Second)
		}
	}
	for range 1000 {
		if d.settled.Load() == int64(d.batches) {
			break
		}
		for d.underWay() > 0 {
			d.land(0, false)
		}
		pass(3 * time.Second)
	}
	for d.underWay() > 0 { // those that had nothing to run
		d.land(0, false)
	}
	if d.settled.Load() != int64(d.batches) || d.retried.Load() != 0 || d.engine.left() != 0 {
		t.Fatalf("%d of %d batches settled, %d given back, %d slots left", d.settled.Load(), d.batches, d.retried.Load(), d.engine.left())
	}
	launch := uint64(0)
	for _, r := range d.pub.all() {
		if r.Launch != launch+1 || r.InFlight < 1 || r.InFlight > 3 {
			t.Fatalf("launch %d after %d, %d in flight", r.Launch, launch, r.InFlight)
		}
		launch = r.Launch
	}
	f := d.family()
	if n := f.pending.Load(); n != 0 {
		t.Fatalf("%d slots pending", n)
	}
	// The last launches worked, so what they were decided with is committed, and
	// nothing that a failure took back is left.
	topology, plan := &f.queue.topology, &f.queue.policy
	if topology.Committed.Decision != plan.Committed.Decision || plan.Committed.Decision > plan.Issued.Decision {
		t.Fatalf("committed at %d and %d, issued at %d", topology.Committed.Decision, plan.Committed.Decision, plan.Issued.Decision)
	}
}

func TestDrainWaitsForAllLaunches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDepthTrial(t)
		defer d.system.Close()
		d.submit(2000, 300)
		drained := make(chan error, 1)
		go func() { drained <- d.system.Drain(context.Background()) }()
		for n := 3; n > 0; n-- {
			synctest.Wait()
			if len(drained) > 0 || d.underWay() != n {
				t.Fatalf("drained %v with %d launches under way, want %d", len(drained) > 0, d.underWay(), n)
			}
			d.land(0, n == 2)
		}
		synctest.Wait()
		if err := <-drained; err != nil {
			t.Error(err)
		}
		if d.retried.Load() != 2 {
			t.Errorf("%d batches given back", d.retried.Load())
		}
	})
}

func TestAPanicOfTheEngineFailsItsLaunchOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDepthTrial(t)
		defer d.system.Close()
		d.submit(100)
		d.engine.mu.Lock()
		d.engine.panics = true
		d.engine.mu.Unlock()
		d.submit(2000)
		pass(time.Second)
		for range 100 {
			for d.underWay() > 0 {
				d.land(0, false)
			}
			pass(time.Second)
		}
		failed := 0
		for _, r := range d.pub.all() {
			if r.Status == telemetry.LaunchFailed {
				failed++
				if r.Error != ErrPanic.Error() {
					t.Errorf("error %q", r.Error)
				}
			}
		}
		if failed != 1 || d.settled.Load() != 2 {
			t.Errorf("%d launches failed, %d batches settled", failed, d.settled.Load())
		}
	})
}

// Whoever waits for a batch comes before those who want to know of the launch that ended it.
func TestReportsComeAfterDoneRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDepthTrial(t)
		defer d.system.Close()
		d.pub.reported = func() {
			if n := d.pub.done.Load(); n != 1 {
				t.Errorf("%d done records were out at the report of the launch", n)
			}
		}
		d.submit(100)
		d.land(0, false)
		if n := len(d.pub.all()); n != 1 {
			t.Errorf("%d reports of a launch", n)
		}
	})
}
