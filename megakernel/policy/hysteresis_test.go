package policy

import (
	"testing"

	"pgregory.net/rapid"
)

// decisions feeds the requests to one queue and counts how often each outcome
// of a later decision differs from that of the decision before it.
func decisions(t *rapid.T, cfg *Config, state State, reqs []Request) (flips struct{ topology, mode, promotion, workers int }) {
	var last Recommendation
	for i := range reqs {
		rec, next, err := Decide(cfg, &reqs[i], state)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			flips.topology += count(rec.Topology != last.Topology)
			flips.mode += count(rec.Mode != last.Mode)
			flips.promotion += count(rec.PromoteHotOpcodes != last.PromoteHotOpcodes) + count(rec.PromoteHotWindows != last.PromoteHotWindows)
			flips.workers += count(rec.WorkerGroups != last.WorkerGroups)
		}
		last, state = rec, next
	}
	return flips
}

// settle makes so many decisions on one request that nothing is held any more. A topology
// that was held may have had a plan where the one that follows has none.
func settle(cfg *Config, req *Request, state State) (State, error) {
	for range 2 * cfg.Dwell {
		var err error
		if _, state, err = Decide(cfg, req, state); err != nil {
			return state, err
		}
	}
	return state, nil
}

// settled is the state after settle, of a request that always has a plan.
func settled(t *rapid.T, cfg *Config, req *Request, state State) State {
	state, err := settle(cfg, req, state)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// repeated is one request many times, each changed by set.
func repeated(t *rapid.T, req Request, set func(r *Request)) []Request {
	reqs := make([]Request, rapid.IntRange(2, 50).Draw(t, "decisions"))
	for i := range reqs {
		reqs[i] = req
		set(&reqs[i])
	}
	return reqs
}

var smallQueue = Request{QueueLen: 1_000, Limits: Limits{256, 65_535, 1_024, 0, 0, 0}, GraphNodeCount: 100_000, GraphEdgeCount: 1 << 20}

// Counts that stay between the lower end of the band and the threshold, and
// reach it now and then: what they gain once they keep.
func TestHotCountersDoNotFlapInsideTheBand(t *testing.T) {
	cfg := Standard()
	rapid.Check(t, func(t *rapid.T) {
		req := smallQueue
		req.FrontierDensityBps = rapid.Uint16Range(4_251, 10_000).Draw(t, "density")
		reqs := repeated(t, req, func(r *Request) {
			r.HotOpcodeCount = rapid.Uint32Range(6, 12).Draw(t, "opcodes")
			r.HotWindowCount = rapid.Uint32Range(3, 6).Draw(t, "windows")
		})
		flips := decisions(t, &cfg, settled(t, &cfg, &reqs[0], anyState.Draw(t, "prev")), reqs)
		if flips.topology > 1 || flips.mode > 1 || flips.promotion > 2 {
			t.Fatalf("%+v: more than each on its own once", flips)
		}
	})
}

func TestModeDoesNotFlapInsideTheBand(t *testing.T) {
	cfg := Standard()
	rapid.Check(t, func(t *rapid.T) {
		reqs := repeated(t, smallQueue, func(r *Request) {
			r.QueueLen = rapid.Uint32Range(3_584, 5_000).Draw(t, "queue")
		})
		if flips := decisions(t, &cfg, anyState.Draw(t, "prev"), reqs); flips.mode > 1 {
			t.Fatalf("%d changes of the mode", flips.mode)
		}
	})
}

// Whatever is asked for within a tenth of the first number is not taken. (The
// band is an eighth; the rest is room for the rounding to whole workers.)
func TestWorkersDoNotFlapInsideTheBand(t *testing.T) {
	cfg := Standard()
	rapid.Check(t, func(t *rapid.T) {
		req := smallQueue
		req.RequestedWorkerGroups = rapid.Uint32Range(0, 1_024).Draw(t, "workers")
		centre := rapid.Uint16Range(100, 700).Draw(t, "density")
		req.FrontierDensityBps = centre
		_, state, err := Decide(&cfg, &req, State{Topology: TopologyState{Topology: TopologySparse}})
		if err != nil {
			t.Fatal(err)
		}
		reqs := repeated(t, req, func(r *Request) {
			r.FrontierDensityBps = min(rapid.Uint16Range(centre-centre/10, centre+centre/10).Draw(t, "density"), 750)
		})
		if state.Plan.ScheduledGroups < 64 {
			t.Skip("few workers, much rounding")
		}
		reqs = append([]Request{req}, reqs...)
		if flips := decisions(t, &cfg, state, reqs); flips.workers > 0 {
			t.Fatalf("%d changes of the workers", flips.workers)
		}
	})
}

// The held number obeys the band exactly, and never exceeds the ceiling.
func TestHeldWorkersAreWithinTheBand(t *testing.T) {
	cfg := Standard()
	rapid.Check(t, func(t *rapid.T) {
		req, prev := anyRequest.Draw(t, "req"), anyState.Draw(t, "prev")
		req.QueueLen = max(req.QueueLen, 1)
		// The rules that keep a number apply to one state in many: aim at it.
		if rapid.Bool().Draw(t, "same shedding") {
			first := req
			first.FrontierDensityBps, first.MemoryPressureBps = anyBps.Draw(t, "density before"), anyBps.Draw(t, "pressure before")
			_, prev, _ = Decide(&cfg, &first, prev)
		}
		prev.Plan.WorkersAsked = cfg.Dwell - 1 // one more is taken
		rec, next, err := Decide(&cfg, &req, prev)
		if err != nil {
			t.Skip("no plan")
		}
		wanted, taken, held := uint64(rec.ScheduledGroups), uint64(next.Plan.ScheduledGroups), uint64(prev.Plan.ScheduledGroups)
		if taken > uint64(next.Plan.CeilingGroups) || uint64(rec.WorkerGroups) > taken {
			t.Fatalf("%d workers of %d scheduled, ceiling %d", rec.WorkerGroups, taken, next.Plan.CeilingGroups)
		}
		var reason *Reason
		for i := range rec.Reasons[:rec.ReasonCount] {
			if rec.Reasons[i].Rule == RuleWorkers {
				reason = &rec.Reasons[i]
			}
		}
		if (taken != wanted) != (reason != nil) {
			t.Fatalf("%d wanted, %d taken, reason %+v", wanted, taken, reason)
		}
		if taken == wanted {
			return
		}
		if taken != held || prev.Plan.CeilingGroups != next.Plan.CeilingGroups || prev.Plan.Topology != rec.Topology {
			t.Fatalf("%d taken is neither %d wanted nor %d held", taken, wanted, held)
		}
		apart := func(n uint64) uint64 { return max(n, held) - min(n, held) }
		if apart(wanted)*FullBps > held*uint64(cfg.WorkerHysteresisBps) {
			t.Fatalf("%d kept although %d is wanted", held, wanted)
		}
		if apart(reason.Threshold)*FullBps <= held*uint64(cfg.WorkerHysteresisBps) || reason.Threshold > uint64(next.Plan.CeilingGroups) {
			t.Fatalf("the threshold would not be taken: %+v, held %d", reason, held)
		}
		if d := max(reason.Threshold, wanted) - min(reason.Threshold, wanted); !reason.Held || reason.Value != wanted || reason.Distance != d {
			t.Fatalf("%+v, want distance %d", reason, d)
		}
	})
}

// The distance of the mode's reason is exact.
func TestModeReasonGivesTheDistanceToTheFlip(t *testing.T) {
	cfg := Standard()
	rapid.Check(t, func(t *rapid.T) {
		req := smallQueue
		req.FrontierDensityBps = 2_000
		req.QueueLen = max(edgy(8_192, 1, 3_583, 3_584, 4_095, 4_096).Draw(t, "queue"), 1)
		switch rapid.IntRange(0, 2).Draw(t, "hot") {
		case 1:
			req.HotOpcodeCount = edgy(16, 5, 6, 7, 8).Draw(t, "opcodes")
		case 2:
			req.HotWindowCount = edgy(8, 2, 3, 4).Draw(t, "windows")
		}
		rec, state, err := Decide(&cfg, &req, settled(t, &cfg, &req, anyState.Draw(t, "prev")))
		if err != nil {
			t.Fatal(err)
		}
		r := rec.Reasons[rec.ReasonCount-1]
		moved := func(by uint64) Mode {
			next, v := req, uint32(r.Value+by)
			if rec.Mode == ModeJIT {
				v = uint32(r.Value - by)
			}
			next.QueueLen = min(req.QueueLen, 3_000) // so that the counters alone decide
			switch r.Rule {
			case RuleModeHotOpcodes:
				next.HotOpcodeCount = v
			case RuleModeHotWindows:
				next.HotWindowCount = v
			case RuleModeQueueLen:
				next = req
				next.QueueLen = v
				if rec.Mode == ModeJIT {
					next.HotOpcodeCount, next.HotWindowCount = 0, 0
				}
			default:
				t.Fatalf("unexpected %+v", r)
			}
			return settled(t, &cfg, &next, state).Plan.Mode
		}
		if moved(r.Distance) == rec.Mode || moved(r.Distance-1) != rec.Mode {
			t.Fatalf("%v does not flip at %+v", rec.Mode, r)
		}
	})
}

// The switch changes nothing without a decision before.
func TestFullHysteresisNeedsAPast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest.Draw(t, "req")
		ref, full := Reference(), withOnly(t, "FullHysteresis")
		a, _, err := Decide(&ref, &req, State{})
		b, _, err2 := Decide(&full, &req, State{})
		if err != nil || err2 != nil {
			t.Skip("no plan")
		}
		mode := &b.Reasons[b.ReasonCount-1] // names the edge at which it is left
		*mode = a.Reasons[a.ReasonCount-1]
		if a != b {
			t.Fatalf("%+v\n%+v", a, b)
		}
	})
}
