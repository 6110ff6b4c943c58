package policy

import (
	"math"
	"testing"
)

func auditing(every uint32) Config {
	cfg := Standard()
	cfg.AuditLaunches = every
	return cfg
}

var auditable = Request{
	QueueLen: 100_000,
	Limits: Limits{
		MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32, Units: 132, UnitLanes: 2048,
	},
	Cost: Cost{LaunchNs: 10_000, SlotPs: 1_000},
}

func TestAuditsAreAsOftenAndAsLikelyAsTheLogSays(t *testing.T) {
	const every, decisions = 10, 60_000
	cfg := auditing(every)
	usual, _, err := Decide(&cfg, &auditable, State{})
	if err != nil {
		t.Fatal(err)
	}
	type launch struct {
		geometry Geometry
		audited  bool
	}
	seen := make(map[launch]int)
	for n := range uint64(decisions) {
		req := auditable
		req.Draw = Draw("gpu0", "render", n)
		plan, _, err := Decide(&cfg, &req, State{})
		if err != nil {
			t.Fatal(err)
		}
		seen[launch{plan.Geometry(), plan.Audited()}]++
	}
	// Every geometry that the draws of AuditDraws lead to, and no other, six sigma wide.
	want := map[launch]float64{{usual.Geometry(), false}: 1 - 1.0/every}
	draws := cfg.AuditDraws()
	for _, draw := range draws {
		req := auditable
		req.Draw = draw
		plan, _, _ := Decide(&cfg, &req, State{})
		want[launch{plan.Geometry(), plan.Audited()}] += 1.0 / every / float64(len(draws))
	}
	if len(want) < 5 || len(seen) != len(want) || want[launch{usual.Geometry(), true}] != 1.0/every/float64(len(draws)) {
		t.Errorf("%v are possible, %v were drawn", want, seen)
	}
	for l, p := range want {
		if sigma := math.Sqrt(decisions * p * (1 - p)); math.Abs(float64(seen[l])-decisions*p) > 6*sigma {
			t.Errorf("%v: %d times, want about %.0f", l, seen[l], decisions*p)
		}
	}
}

func TestNobodyIsAuditedWhoCannotWait(t *testing.T) {
	cfg := auditing(2)
	for name, change := range map[string]func(*Request, *State){
		"a target":      func(r *Request, _ *State) { r.TargetMs = 50 },
		"not measured":  func(r *Request, _ *State) { r.Unmeasured = true },
		"empty":         func(r *Request, _ *State) { r.QueueLen = 0 },
		"a graph":       func(r *Request, _ *State) { r.GraphNodeCount = 1000 },
		"a lease":       func(_ *Request, s *State) { s.Plan.LaunchMode = LaunchLease },
		"others wait":   func(r *Request, _ *State) { r.OtherQueues, r.Cost.SlotPs = 1, 1_000_000 },
		"nothing drawn": func(r *Request, _ *State) { r.Draw = 0 },
	} {
		req, state := auditable, State{}
		req.Draw = cfg.AuditDraws()[1]
		if plan, _, _ := Decide(&cfg, &req, state); name != "nothing drawn" && !plan.Audited() {
			t.Fatal("not audited without it")
		}
		change(&req, &state)
		if plan, _, err := Decide(&cfg, &req, state); err != nil || plan.Audited() {
			t.Errorf("%s: audited at %v, %v", name, plan.Geometry(), err)
		}
	}
}

// Whatever is drawn, a launch of it is possible, and everything but the geometry is as usual.
func TestAnAuditChangesTheGeometryAlone(t *testing.T) {
	cfg := auditing(2)
	for seed := range 3000 {
		req := anyRequest.Example(seed)
		req.Draw = 0
		usual, after, err := Decide(&cfg, &req, State{})
		for _, draw := range cfg.AuditDraws() {
			req.Draw = draw
			plan, state, err2 := Decide(&cfg, &req, State{})
			if (err == nil) != (err2 == nil) && plan.Audited() {
				t.Fatalf("seed %d: %v, audited %v", seed, err, err2)
			}
			if !plan.Audited() {
				continue
			}
			if plan.WorkgroupSizeX > req.Limits.MaxWidth() || plan.DispatchGrid[0] == 0 || plan.DispatchGrid[0] > max(usual.WorkerGroups, usual.DispatchGrid[0]) ||
				plan.ClaimChunk == 0 || plan.ClaimChunk > plan.BatchDepth || plan.Topology != usual.Topology || state.Topology != after.Topology {
				t.Fatalf("seed %d: audited %+v, usual %+v", seed, plan, usual)
			}
		}
	}
}
