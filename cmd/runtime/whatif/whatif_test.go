package whatif

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"ringmaster/cmd/runtime/decisions"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/decisionlog"
)

var limits = policy.Limits{
	MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32, Units: 132, UnitLanes: 2048,
}

// device is a simulated one: lanes work side by side, groups and claims cost their start, and what a launch takes
// is up to a fifth more, alike for some launches in a row.
type device struct {
	random *rand.Rand
	drift  float64
}

func (d *device) usually(g policy.Geometry, slots float64) float64 {
	lanes := min(float64(g.Width)*float64(g.Groups), 132*2048)
	return 8_000 + 12*float64(g.Groups) + 30*slots/float64(g.Chunk) + slots*40_000/lanes*(1+float64(g.Width)/2048) + float64(g.Chunk)*9
}

// takes is the time of launch number i; 1.1 times what it usually is, in the mean.
func (d *device) takes(i int, g policy.Geometry, slots float64) float64 {
	if i%15 == 0 {
		d.drift = d.random.Float64() / 5
	}
	return d.usually(g, slots) * (1 + d.drift) * (1 + 0.05*(d.random.Float64()-0.5))
}

// beingAudited is by how much an audit's launch takes longer, whatever its geometry: a decision is made while it runs.
const beingAudited = 1.2

// simulate is a log of decisions by a policy and of what their launches took, and what these would have taken by
// others, in the mean of the noise.
func simulate(t testing.TB, seed uint64, decided int, by policy.Config, others ...policy.Config) (log []byte, usual float64, otherwise []float64) {
	t.Helper()
	section := decisionlog.NewSection(&decisionlog.Header{Incarnation: 1, Config: by})
	log = section.AppendHeader(nil)
	d := &device{random: rand.New(rand.NewPCG(seed, 9))}
	name := fmt.Sprintf("q%d", seed)
	otherwise = make([]float64, len(others))
	var state policy.State
	var ran decisionlog.Ran
	for i := range decided {
		request := policy.Request{
			QueueLen: 3_000 + d.random.Uint32N(400_000), Limits: limits, Cost: policy.Cost{LaunchNs: 10_000, SlotPs: 1_000}, Draw: policy.Draw("w", name, uint64(i+1)),
		}
		plan, after, err := policy.Decide(&by, &request, state)
		if err != nil {
			t.Fatal(err)
		}
		e := decisionlog.Entry{Worker: "w", Queue: name, Decision: uint64(i + 1), Request: request, Before: state, Plan: plan, After: after}
		e.Ran[0] = ran
		log = section.Append(log, &e)
		g := plan.Geometry()
		slots := float64(min(request.QueueLen, g.Depth))
		g.Depth = 0
		ns := d.takes(i, plan.Geometry(), slots)
		if plan.Audited() {
			ns *= beingAudited
		}
		ran = decisionlog.Ran{Decision: e.Decision, Geometry: g, LaunchMode: plan.LaunchMode, Mode: plan.Mode, Slots: uint64(slots), Ns: uint64(ns)}
		request.Draw = policy.Usual
		plan, _, _ = policy.Decide(&by, &request, state)
		usual += d.usually(plan.Geometry(), slots)
		for k := range others {
			plan, _, _ = policy.Decide(&others[k], &request, state)
			otherwise[k] += d.usually(plan.Geometry(), slots)
		}
		state = after
	}
	return log, usual, otherwise
}

// most is the standard policy with at most so many workgroups, and audits.
func most(groups, every uint32) policy.Config {
	cfg := policy.Standard()
	cfg.SizeByUnits = false
	cfg.Sizing.MaxDispatchWorkgroups, cfg.Sizing.MaxClaimWidths, cfg.AuditLaunches = groups, 1, every
	return cfg
}

func study(t testing.TB, log []byte, other *policy.Config) *Report {
	t.Helper()
	s, err := Read(decisions.FromFile("-", bytes.NewReader(log)), "other", other)
	if err != nil {
		t.Fatal(err)
	}
	return s.Report()
}

// The promise: within 5 % of what the other policy would have taken, and intervals that hold the truth nine times of ten.
func TestAnotherPolicysCostIsWithinItsInterval(t *testing.T) {
	const seeds = 30
	other := most(64, 0)
	held, worst := 0, 0.0
	for seed := range uint64(seeds) {
		log, usual, otherwise := simulate(t, seed, 2_000, most(128, 10), other)
		a := study(t, log, &other).Queues[0].Answers[0]
		if a.Ratio == 0 || a.Audits < leastAudits || a.Covered < 0.99 {
			t.Fatalf("seed %d: %+v", seed, a)
		}
		truth := otherwise[0] / usual
		if math.Abs(truth-1) < 0.02 {
			t.Fatalf("the two are as good as the same: %v", truth)
		}
		worst = max(worst, math.Abs(a.Ratio/truth-1))
		if a.Low <= truth && truth <= a.High {
			held++
		}
	}
	t.Logf("worst error %.2f %%, %d of %d intervals hold the truth", 100*worst, held, seeds)
	if worst > 0.05 {
		t.Errorf("an estimate is %.1f %% off", 100*worst)
	}
	if held < seeds*9/10 {
		t.Errorf("%d of %d intervals hold the truth", held, seeds)
	}
}

// Without another policy each neighbour is priced.
func TestNeighboursArePriced(t *testing.T) {
	cfg := most(128, 20)
	log, _, _ := simulate(t, 5, 4_000, cfg)
	r := study(t, log, nil)
	answers := r.Queues[0].Answers
	if len(answers) != len(policy.MoveNames()) {
		t.Fatalf("%+v", r)
	}
	priced := 0
	for _, a := range answers {
		if a.Ratio != 0 {
			priced++
			if !(a.Low <= a.Ratio && a.Ratio <= a.High) || a.IPS == 0 {
				t.Errorf("%+v", a)
			}
		} else if a.Refused == "" {
			t.Errorf("no answer and no reason: %+v", a)
		}
	}
	if priced < 4 || !r.Answered() || !strings.Contains(r.String(), "claims of half as many slots") {
		t.Errorf("%d priced:\n%s", priced, r)
	}
}

func TestWhatIsNotIdentifiedIsRefused(t *testing.T) {
	far := most(128, 0)
	far.Sizing.MaxDefaultWidth = 32 // three moves away
	log, _, _ := simulate(t, 7, 2_000, most(128, 20))
	if a := study(t, log, &far).Queues[0].Answers[0]; a.Ratio != 0 || !strings.Contains(a.Refused, "launches ran at 32x") {
		t.Errorf("a policy that nobody tried: %+v", a)
	}
	same := most(128, 0)
	if a := study(t, log, &same).Queues[0].Answers[0]; a.Ratio != 0 || !strings.Contains(a.Refused, "as it was launched") {
		t.Errorf("the same policy: %+v", a)
	}
	other := most(64, 0)
	few, _, _ := simulate(t, 7, 300, most(128, 200))
	if a := study(t, few, &other).Queues[0].Answers[0]; a.Ratio != 0 || a.Refused == "" {
		t.Errorf("few audits: %+v", a)
	}
	none, _, _ := simulate(t, 7, 300, most(128, 0))
	if r := study(t, none, &other); r.Answered() || !strings.Contains(r.Refused, "--audit-launches") {
		t.Errorf("no audits: %+v", r)
	}
}
