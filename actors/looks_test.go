package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// looks counts the looks that were launched or let go; the actors are at rest.
func (l *launcher) looks() uint64 { return l.s.roster[0].looked.Load() }

func TestOnlyAQueueWhoseUsersWaitForTheDeviceLooks(t *testing.T) {
	const enough = 300 // launches after which a busy queue has looked at something
	for name, c := range map[string]struct {
		set   func(t *testing.T, l *launcher)
		looks bool
		why   string // 300 launches later
	}{
		"busy":                            {func(*testing.T, *launcher) {}, true, ""},
		"idle for two thirds of the time": {func(_ *testing.T, l *launcher) { l.pause = time.Second }, false, session.Idle},
		"with a latency target": {func(t *testing.T, l *launcher) {
			l.ingest(t, telemetry.KindQueue, telemetry.Record{Queue: telemetry.Queue{Has: telemetry.HasQueueLen | telemetry.HasLatencyTargetMs, QueueLen: tunedSlots, LatencyTargetMs: 1000}})
		}, false, session.Urgent},
		"of higher priority": {func(t *testing.T, l *launcher) {
			l.ingest(t, telemetry.KindPriority, telemetry.Record{Priority: telemetry.Priority{Has: telemetry.HasPriority, Priority: 5}})
		}, false, session.Urgent},
	} {
		t.Run(name, func(t *testing.T) {
			everyLauncher(t, func(t *testing.T, local bool) {
				l := newLauncher(t, local, nil)
				defer l.s.Close()
				c.set(t, l)
				l.launches(enough)
				told := l.s.Stats().Exploring
				if c.looks == (told.AllowedMs == 0) || told.LostMs > told.AllowedMs || c.why != "" && told.Queues[c.why] != 1 {
					t.Errorf("the status says %+v", told)
				}
				if n := l.looks(); (n > 0) != c.looks {
					t.Errorf("%d looks", n)
				}
				if g := l.asked(); !c.looks && g != (policy.Geometry{}) {
					t.Errorf("asks for %v", g)
				}
			})
		})
	}
}

// ingest folds a record of the queue.
func (l *launcher) ingest(t *testing.T, kind telemetry.Kind, r telemetry.Record) {
	t.Helper()
	l.seq++
	r.Header = telemetry.Header{Kind: kind, Incarnation: 7, Seq: l.seq}
	must(t, l.s.Ingest("gpu0", "q", &r, time.Now(), ""))
	synctest.Wait()
}

// look runs launches until the newest plan is a look.
func (l *launcher) look() *decision {
	l.t.Helper()
	for range 1000 {
		if s := l.s.roster[0].latest.Load(); s.look > l.looks() {
			return s
		}
		l.launch()
	}
	l.t.Fatal("nothing is looked at")
	return nil
}

// While a look's launch is under way, and until its report is in, the usual plan runs.
func TestALookIsOneLaunch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLauncher(t, true, nil)
		defer l.s.Close()
		look := l.look()
		l.launch() // that was under way when the look was planned
		if got := l.engine.held[0].order.Decision; got != look.Decision {
			t.Fatalf("launches by decision %d, the look is %d", got, look.Decision)
		}
		now := l.s.roster[0].latest.Load()
		if now.look != 0 || now.Plan.Geometry() == look.Plan.Geometry() {
			t.Errorf("while the look runs decision %d recommends it again: %+v", now.Decision, now.Plan)
		}
	})
}

// A plan that looks at something may be there still when the queue has been idle.
func TestALookIsNotLaunchedWhenNobodyHasWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLauncher(t, true, nil)
		defer l.s.Close()
		look := l.look()
		f, w := l.s.roster[0], l.s.devices["gpu0"].worker.Load()
		lane := w.lanes["q"]
		if plan := lane.newestPlan(time.Millisecond); plan != look {
			t.Fatalf("decision %d is launched instead of the look", plan.Decision)
		}
		if plan := lane.newestPlan(time.Minute); plan == nil || plan.look != 0 || plan.Plan.Geometry() == look.Plan.Geometry() {
			t.Errorf("after a minute without work the launch is by %+v", plan)
		}
		synctest.Wait()
		if now := f.latest.Load(); now.look != 0 {
			t.Error("the look is still recommended")
		}
	})
}

// A recommendation for a worker elsewhere may be launched any number of times: only one asks for the look.
func TestAWorkerElsewhereIsAskedForALookOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLauncher(t, false, nil)
		defer l.s.Close()
		f := l.s.roster[0]
		for n := 0; f.latest.Load().look == 0; n++ {
			if n == 1000 {
				t.Fatal("nothing is looked at")
			}
			l.launch()
		}
		look := f.latest.Load().look
		l.decide()
		if now := f.latest.Load().look; now == look {
			t.Error("asked for again by the next recommendation")
		}
	})
}
