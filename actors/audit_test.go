package actors

import (
	"sync"
	"testing"
	"testing/synctest"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry/decisionlog"
)

// One decision in so many is launched at a drawn geometry, once, by a worker here or elsewhere; what each
// decision's first launch took is in the entry of a later one; and the tuner's choice is not
// barred because an audit ran elsewhere.
func TestAuditsAreLaunchedOnceAndLogged(t *testing.T) {
	const every, launches = 10, 600
	everyLauncher(t, func(t *testing.T, local bool) {
		var mu sync.Mutex
		entries := make(map[uint64]decisionlog.Entry)
		l := newLauncher(t, local, func(cfg *Config) {
			cfg.Policy.AuditLaunches, cfg.Autotuner = every, session.Off
			cfg.OnDecision = func(in DecisionInput) {
				mu.Lock()
				defer mu.Unlock()
				entries[in.Decision] = in.Entry()
			}
		})
		defer l.s.Close()
		for range launches {
			l.decide()
			l.launch()
		}
		mu.Lock()
		defer mu.Unlock()
		ran := make(map[uint64]decisionlog.Ran)
		for _, e := range entries {
			for _, r := range e.Ran {
				if r.Decision != 0 {
					if ran[r.Decision] != (decisionlog.Ran{}) {
						t.Fatalf("decision %d ran first twice", r.Decision)
					}
					ran[r.Decision] = r
				}
			}
		}
		audits, audited := 0, 0
		for n, e := range entries {
			if e.Plan.Audited() {
				audits++
			}
			if r := ran[n]; r.Decision != 0 && e.Plan.Audited() {
				audited++
				if g := e.Plan.Geometry(); r.Geometry != (policy.Geometry{Width: g.Width, Groups: g.Groups, Chunk: g.Chunk}) || r.Ns == 0 || r.Slots == 0 {
					t.Errorf("decision %d is an audit at %v and ran at %+v", n, g, r)
				}
			}
		}
		if least := launches / every / 2; audits < least || audited < least/2 || len(ran) < launches/3 {
			t.Errorf("%d decisions, %d audits, of which %d ran; %d launches are logged", len(entries), audits, audited, len(ran))
		}
	})
}

// While an audit's launch is under way, the usual plan runs.
func TestAnAuditIsOneLaunch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLauncher(t, true, func(cfg *Config) { cfg.Policy.AuditLaunches, cfg.Autotuner = 10, session.Off })
		defer l.s.Close()
		f := l.s.roster[0]
		for n := 0; !f.latest.Load().audits(); n++ {
			if n == 1000 {
				t.Fatal("nothing is audited")
			}
			l.launch()
		}
		audit := f.latest.Load()
		l.launch() // that was under way when the audit was planned
		if got := l.engine.held[0].order.Decision; got != audit.Decision {
			t.Fatalf("launches by decision %d, the audit is %d", got, audit.Decision)
		}
		if now := f.latest.Load(); now.Decision == audit.Decision {
			t.Error("the audit is still recommended while it runs")
		}
		plan := l.s.devices["gpu0"].worker.Load().lanes["q"].newestPlan(0)
		if plan == nil || plan.Decision == audit.Decision {
			t.Errorf("the next launch is by %+v", plan)
		}
	})
}
