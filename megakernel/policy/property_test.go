package policy

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// edgy draws from a range and, as often, from the values around which rules flip.
func edgy(max uint32, edges ...uint32) *rapid.Generator[uint32] {
	return rapid.OneOf(rapid.Uint32Range(0, max), rapid.SampledFrom(edges))
}

var anyBps = rapid.Custom(func(t *rapid.T) uint16 {
	return uint16(edgy(10_000, 0, 1, 249, 250, 500, 501, 750, 751, 3_749, 3_750, 4_000, 4_250, 4_251, 8_249, 8_250, 8_499, 8_500).Draw(t, "bps"))
})

var anyLimits = rapid.Custom(func(t *rapid.T) Limits {
	return Limits{
		MaxWorkgroupSizeX:          max(edgy(2_048, 1, 51, 255, 256, 1_024).Draw(t, "max x"), 1),
		MaxWorkgroupsPerDimension:  max(edgy(1<<31, 1, 2, 65_535).Draw(t, "max groups"), 1),
		MaxInvocationsPerWorkgroup: max(edgy(4_096, 1, 128, 1_024).Draw(t, "max invocations"), 1),
		SubgroupSize:               rapid.SampledFrom([]uint32{0, 1, 3, 4, 8, 32, 51, 64, 128, 512}).Draw(t, "subgroup"),
		Units:                      edgy(200, 0, 1, 2, 132, 1<<32-1).Draw(t, "units"),
		UnitLanes:                  edgy(2_048, 0, 1, 8, 2_048, 1<<32-1).Draw(t, "lanes of a unit"),
	}
})

var anyCost = rapid.Custom(func(t *rapid.T) Cost {
	return Cost{
		LaunchNs: uint64(edgy(1<<24, 0, 1, 500_000).Draw(t, "launch ns")),
		SlotPs:   uint64(edgy(1<<31, 0, 1, 21).Draw(t, "slot ps")),
	}
})

var anyRequest = rapid.Custom(func(t *rapid.T) Request {
	return Request{
		QueueLen:              edgy(1<<20, 0, 1, 255, 256, 4_095, 4_096, 65_536, 1<<32-1).Draw(t, "queue"),
		WaveHostNs:            uint64(edgy(1<<20, 0, 1).Draw(t, "wave host ns")),
		WaveSlots:             edgy(1<<16, 0, 1).Draw(t, "wave slots"),
		RequestedWorkerGroups: edgy(2_000, 0, 1, 2, 32, 33, 1<<32-1).Draw(t, "workers"),
		Limits:                anyLimits.Draw(t, "limits"),
		RequestedHitCapacity:  edgy(1<<20, 0, 1).Draw(t, "hits"),
		ExpectedHitsPerItem:   edgy(8, 0, 1).Draw(t, "hits per item"),
		HotOpcodeCount:        edgy(16, 7, 8).Draw(t, "hot opcodes"),
		HotWindowCount:        edgy(8, 3, 4).Draw(t, "hot windows"),
		RequeueCount:          uint64(edgy(3, 0).Draw(t, "requeues")),
		MaxPriorityAge:        edgy(64, 31, 32).Draw(t, "age"),
		GraphNodeCount:        edgy(1<<20, 0, 1).Draw(t, "nodes"),
		GraphEdgeCount:        edgy(1<<20, 0, 65_535, 65_536).Draw(t, "edges"),
		FrontierDensityBps:    anyBps.Draw(t, "density"),
		MemoryPressureBps:     anyBps.Draw(t, "pressure"),
		ResidentDeviceBytes:   uint64(edgy(1<<30, 0).Draw(t, "resident")),
		MemoryBudgetBytes:     uint64(edgy(1<<31, 0, 1).Draw(t, "budget")),
		Tuned: Geometry{
			Width:  edgy(2_048, 0, 32, 64, 128, 256, 255, 51).Draw(t, "tuned width"),
			Groups: edgy(2_048, 0, 1, 64, 255, 1_024, 1<<32-1).Draw(t, "tuned groups"),
			Chunk:  edgy(1<<16, 0, 1, 32, 256, 1_024, 1<<32-1).Draw(t, "tuned chunk"),
			Depth:  edgy(1<<17, 0, 1, 256, 65_536, 1<<20, 1<<32-1).Draw(t, "tuned depth"),
		},
		Draw:        uint64(edgy(1<<20, 0, 1).Draw(t, "draw")),
		Cost:        anyCost.Draw(t, "cost"),
		Interpreted: anyCost.Draw(t, "interpreted"),
		Compiled:    anyCost.Draw(t, "compiled"),
		Leased:      anyCost.Draw(t, "leased"),
		Lease: Lease{
			Slots:   edgy(1<<16, 0, 256).Draw(t, "lease slots"),
			Always:  rapid.Bool().Draw(t, "lease always"),
			Refused: rapid.Bool().Draw(t, "lease refused"),
		},
		CompiledReady:        rapid.Bool().Draw(t, "compiled ready"),
		Unmeasured:           rapid.Bool().Draw(t, "unmeasured"),
		OtherQueues:          edgy(8, 0, 1).Draw(t, "other queues"),
		TargetMs:             edgy(3_600_000, 0, 10).Draw(t, "target ms"),
		FrontierOutDegreeSum: uint64(edgy(1<<16, 0, 1, 58_254, 58_255, 72_817, 72_818).Draw(t, "out-edges")),
		FrontierNodes:        edgy(1<<16, 0, 1).Draw(t, "frontier"),
		UnexploredEdges:      uint64(edgy(1<<20, 0, 873_824, 873_825).Draw(t, "unexplored")),
		Present:              Presence(rapid.Uint8Range(0, 7).Draw(t, "present")),
	}
})

var anyTopology = rapid.Custom(func(t *rapid.T) Topology {
	return Topology(rapid.Uint8Range(0, uint8(TopologyMemoryConstrained)).Draw(t, "topology"))
})

var anyState = rapid.Custom(func(t *rapid.T) State {
	return State{
		Topology: TopologyState{anyTopology.Draw(t, "topology"), rapid.Uint8Range(0, 7).Draw(t, "asked")},
		Plan: PlanState{
			WorkgroupSizeX:    64,
			Groups:            3,
			Mode:              rapid.SampledFrom([]Mode{ModeInterpreter, ModeJIT}).Draw(t, "mode"),
			PromoteHotOpcodes: rapid.Bool().Draw(t, "promote opcodes"),
			PromoteHotWindows: rapid.Bool().Draw(t, "promote windows"),
			Topology:          anyTopology.Draw(t, "planned topology"),
			CeilingGroups:     edgy(2_000, 0, 1, 2, 32, 255, 1<<32-1).Draw(t, "ceiling"),
			ScheduledGroups:   edgy(2_000, 0, 1, 2, 32, 255, 1<<32-1).Draw(t, "scheduled"),
			Length:            edgy(1<<20, 0, 1, 256, 4_096, 98_304, 1<<32-1).Draw(t, "length"),
			LowMost:           edgy(1<<20, 0).Draw(t, "most low"),
			Low:               rapid.Uint8Range(0, 7).Draw(t, "low"),
			ModeAsked:         rapid.Uint8Range(0, 7).Draw(t, "mode asked"),
			TurnSlots:         1 << rapid.Uint32Range(0, 31).Draw(t, "turn slots") &^ 1,
			WorkersAsked:      rapid.Uint8Range(0, 7).Draw(t, "workers asked"),
		},
	}
})

var anyConfig = rapid.Custom(func(t *rapid.T) Config {
	return rapid.SampledFrom([]Config{Reference(), Standard()}).Draw(t, "config")
})

func TestDecideIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, req, prev := anyConfig.Draw(t, "cfg"), anyRequest.Draw(t, "req"), anyState.Draw(t, "prev")
		rec, next, err := Decide(&cfg, &req, prev)
		cfg2, req2 := cfg, req
		rec2, next2, err2 := Decide(&cfg2, &req2, prev)
		if rec != rec2 || next != next2 || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("%+v, %+v, %v\nthen %+v, %+v, %v", rec, next, err, rec2, next2, err2)
		}
	})
}

func TestStandardNeverExceedsTheDevice(t *testing.T) {
	cfg := Standard()
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest.Draw(t, "req")
		prev := anyState.Draw(t, "prev")
		rec, _, err := Decide(&cfg, &req, prev)
		if err != nil {
			t.Skip("no plan")
		}
		l, width, groups := req.Limits, rec.WorkgroupSizeX, rec.DispatchGrid[0]
		check := func(ok bool, what string) {
			if !ok {
				t.Fatalf("%s: %+v", what, rec)
			}
		}
		check(width >= 1 && width <= l.MaxWorkgroupSizeX && width <= l.MaxInvocationsPerWorkgroup, "width beyond the device")
		check(width&(width-1) == 0 || width%cfg.Sizing.Subgroup(&l) == 0, "width is no power of two and no whole subgroups")
		check(width != 255 && width != 51, "odd width")
		check(groups >= 1 && groups <= l.MaxWorkgroupsPerDimension, "groups beyond the device")
		described := l.Units != 0 && l.UnitLanes != 0
		check(described || groups <= cfg.Sizing.MaxDispatchWorkgroups, "groups beyond what is dispatched on a device without a description")
		check(rec.DispatchGrid[1] == 1 && rec.DispatchGrid[2] == 1, "not one dimension")
		check(rec.WorkerGroups >= groups, "more groups than the ceiling")
		check(req.RequestedWorkerGroups == 0 || groups <= req.RequestedWorkerGroups, "more groups than asked for")
		check(rec.SlotCount >= req.QueueLen, "slots below the queue")
		check(rec.SlotCount%width == 0 || rec.SlotCount == 1<<32-1, "slots not padded")
		switch {
		case req.Tuned.Chunk != 0:
			check(rec.ClaimChunk == min(req.Tuned.Chunk, rec.BatchDepth), "not the tuner's chunk")
		case described:
			check(rec.ClaimChunk <= max(maxClaimSlots, width), "chunk too large")
		default:
			check(rec.ClaimChunk%width == 0 && rec.ClaimChunk >= width, "chunk is no multiple of the width")
			check(rec.ClaimChunk <= width*cfg.Sizing.MaxClaimWidths, "chunk too large")
		}
		check(rec.BatchDepth%width == 0 && rec.BatchDepth >= rec.ClaimChunk && rec.ClaimChunk >= 1, "depth is no multiple of the width, or below a chunk")
		deepest := cfg.BatchDepth(&l)
		check(deepest >= cfg.Sizing.BatchDepth && deepest <= cfg.Sizing.MaxTunedDepth, "own depth out of range")
		if req.Tuned.Depth != 0 {
			deepest = min(req.Tuned.Depth, cfg.Sizing.MaxTunedDepth)
		}
		check(rec.BatchDepth <= max(deepest, width), "depth beyond the configured one, or the tuner's")
		launch := uint64(min(max(cfg.PlannedLaunch(&req, &prev.Plan), 1), rec.BatchDepth))
		if described { // its groups are for what may have come when it begins, and more than that has claims
			chunk := uint64(rec.ClaimChunk)
			launch = sparedClaims * chunk * ((uint64(rec.BatchDepth)-1)/chunk + 1)
		}
		if req.Tuned.Groups == 0 && req.Tuned.Chunk == 0 {
			check(uint64(groups-1)*uint64(rec.ClaimChunk) < launch, "a group finds nothing to claim")
		}
		check(rec.ReasonCount >= 2 && int(rec.ReasonCount) <= MaxReasons, "reasons")
	})
}

func TestReferenceNeverExceedsTheDevice(t *testing.T) {
	cfg := Reference()
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest.Draw(t, "req")
		rec, _, err := Decide(&cfg, &req, anyState.Draw(t, "prev"))
		if err != nil {
			t.Skip("no plan")
		}
		// The reference compares the width with the limit along x only.
		if rec.WorkgroupSizeX > req.Limits.MaxWorkgroupSizeX || rec.DispatchGrid[0] > req.Limits.MaxWorkgroupsPerDimension {
			t.Fatalf("%+v", rec)
		}
	})
}

func TestSteadyInputGivesSteadyOutput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, req, state := anyConfig.Draw(t, "cfg"), anyRequest.Draw(t, "req"), anyState.Draw(t, "prev")
		if _, _, err := Decide(&cfg, &req, state); err != nil {
			t.Skip("no plan")
		}
		state, err := settle(&cfg, &req, state)
		if err != nil {
			t.Skip("no plan")
		}
		first, state, err := Decide(&cfg, &req, state)
		if err != nil {
			t.Fatal(err)
		}
		want := first
		for i := range 5 {
			var got Recommendation
			if got, state, err = Decide(&cfg, &req, state); err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Fatalf("decision %d: got %+v, want %+v", i+2, got, want)
			}
		}
	})
}

func TestTopologyDoesNotFlapInsideABand(t *testing.T) {
	bands := []struct {
		name   string
		lo, hi uint16
		set    func(*Request, uint16)
	}{
		{"sparse", 250, 750, func(r *Request, v uint16) { r.FrontierDensityBps = v }},
		{"dense", 3_750, 4_250, func(r *Request, v uint16) { r.FrontierDensityBps = v }},
		{"memory", 8_250, 8_499, func(r *Request, v uint16) { r.MemoryPressureBps, r.FrontierDensityBps = v, 2_000 }},
	}
	for _, band := range bands {
		t.Run(band.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg, state := anyConfig.Draw(t, "cfg"), anyState.Draw(t, "prev")
				values := rapid.SliceOfN(rapid.Uint16Range(band.lo, band.hi), 2, 50).Draw(t, "values")
				req := Request{QueueLen: 100, Limits: Limits{256, 65_535, 1_024, 0, 0, 0}}
				switches := 0
				band.set(&req, values[0])
				state = settled(t, &cfg, &req, state)
				for i, v := range values {
					band.set(&req, v)
					before := state.Topology
					var err error
					if _, state, err = Decide(&cfg, &req, state); err != nil {
						t.Fatal(err)
					}
					if i > 0 && state.Topology.Topology != before.Topology {
						switches++
					}
				}
				// From a topology that the band does not hold, the raw one
				// is taken first; after that nothing moves.
				if switches > 0 {
					t.Fatalf("%d switches inside the band", switches)
				}
			})
		})
	}
}

// The distance of the leading reason is exact: a value moved by it, towards
// the threshold, changes the next topology, and by one less does not.
func TestTopologyReasonGivesTheDistanceToTheFlip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := anyConfig.Draw(t, "cfg")
		req := anyRequest.Draw(t, "req")
		req.Present |= HasFrontierDensity | HasMemoryPressure
		req.FrontierNodes = 0 // so that the out-edges are the work
		c, err := Classify(&cfg, &req, anyTopology.Draw(t, "prev"))
		if err != nil {
			t.Fatal(err)
		}
		r := c.Reason
		if r.Held != (c.Raw != c.Topology) {
			t.Fatalf("held is %v for raw %v and %v", r.Held, c.Raw, c.Topology)
		}
		moved := func(by uint64) Topology {
			v := r.Value - by
			// On the threshold the direction shows in what flips at once.
			upper := r.Rule == RuleSparse || r.Rule == RuleSparseEdges || r.Rule == RuleHybrid && r.Threshold == 4_250 ||
				r.Rule == RuleHybridEdges && r.Threshold != uint64(req.GraphNodeCount/18)+1
			if r.Value < r.Threshold || r.Value == r.Threshold && upper {
				v = r.Value + by
			}
			next := req
			switch r.Rule {
			case RuleQueueEmpty:
				next.QueueLen = uint32(v)
			case RuleConstrained:
				next.MemoryPressureBps = uint16(v)
			case RuleSparseEdges, RuleHybridEdges, RuleDenseEdges, RuleFusedEdges:
				next.FrontierOutDegreeSum = v
			case RuleFusedHotOpcodes:
				next.HotOpcodeCount, next.HotWindowCount = uint32(v), 0
			case RuleFusedHotWindows:
				next.HotWindowCount = uint32(v)
			default:
				next.FrontierDensityBps = uint16(v)
			}
			after, err := Classify(&cfg, &next, c.Topology)
			if err != nil {
				t.Fatal(err)
			}
			return after.Topology
		}
		if r.Distance == 0 {
			t.Fatalf("distance 0: %+v", r)
		}
		if got := moved(r.Distance); got == c.Topology {
			t.Fatalf("still %v after a move by the distance of %+v", got, r)
		}
		if got := moved(r.Distance - 1); got != c.Topology {
			t.Fatalf("already %v one before the distance of %+v", got, r)
		}
	})
}

func TestMorePressureNeverSchedulesMoreWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := anyConfig.Draw(t, "cfg")
		low := Request{
			QueueLen:              1_000,
			RequestedWorkerGroups: rapid.Uint32Range(0, 2_000).Draw(t, "workers"),
			Limits:                anyLimits.Draw(t, "limits"),
			FrontierDensityBps:    2_000,
			MemoryPressureBps:     rapid.Uint16Range(8_500, 9_999).Draw(t, "pressure"),
		}
		high := low
		high.MemoryPressureBps = rapid.Uint16Range(low.MemoryPressureBps, 10_000).Draw(t, "more pressure")
		prev := anyState.Draw(t, "prev")
		a, _, err := Decide(&cfg, &low, prev)
		b, _, err2 := Decide(&cfg, &high, prev)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if b.WorkerGroups > a.WorkerGroups {
			t.Fatalf("%d workers at %d bps, %d at %d", a.WorkerGroups, low.MemoryPressureBps, b.WorkerGroups, high.MemoryPressureBps)
		}
	})
}

func TestReferenceIsUnchangedByWhatOnlyDeparturesRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain, prev := anyRequest.Draw(t, "req"), anyState.Draw(t, "prev")
		plain.Tuned, plain.Limits.SubgroupSize = Geometry{}, 0
		more := plain
		more.Tuned = Geometry{
			rapid.Uint32().Draw(t, "tuned width"), rapid.Uint32().Draw(t, "tuned groups"),
			rapid.Uint32().Draw(t, "tuned chunk"), rapid.Uint32().Draw(t, "tuned depth"),
		}
		more.Limits.SubgroupSize = rapid.Uint32().Draw(t, "subgroup")
		more.FrontierOutDegreeSum = rapid.Uint64().Draw(t, "out degrees")
		more.FrontierNodes = rapid.Uint32().Draw(t, "frontier nodes")
		more.UnexploredEdges = rapid.Uint64().Draw(t, "unexplored")
		more.Present |= HasFrontierEdges
		ref := Reference()
		sized := Reference()
		sized.Sizing.MaxDefaultWidth = rapid.Uint32().Draw(t, "max default width")
		sized.Sizing.DefaultSubgroup = rapid.Uint32().Draw(t, "default subgroup")
		sized.Sizing.MaxClaimWidths = rapid.Uint32().Draw(t, "claim widths")
		sized.Sizing.MaxTunedDepth = rapid.Uint32().Draw(t, "tuned depth bound")
		sized.DenseLookBps = rapid.Uint16().Draw(t, "dense look")
		sized.SparseNodeDivisor = rapid.Uint16().Draw(t, "node divisor")
		sized.EdgeHysteresisBps = rapid.Uint16().Draw(t, "edge band")
		sized.HotOpcodeHysteresis = rapid.Uint32().Draw(t, "opcode band")
		sized.HotWindowHysteresis = rapid.Uint32().Draw(t, "window band")
		sized.JITQueueLenHysteresis = rapid.Uint32().Draw(t, "jit band")
		sized.WorkerHysteresisBps = rapid.Uint16().Draw(t, "worker band")
		a, as, err := Decide(&ref, &plain, State{Topology: prev.Topology})
		b, bs, err2 := Decide(&sized, &more, prev)
		if err2 != nil {
			bs.Plan = as.Plan // the one that went in
		}
		if a != b || as != bs || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("%+v, %v\nthen %+v, %v", a, err, b, err2)
		}
	})
}

// Each switch changes only what its comment says.
func TestDeparturesChangeOnlyTheirOwnFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req, prev := anyRequest.Draw(t, "req"), anyState.Draw(t, "prev")
		req.Lease = Lease{} // whether it is used depends on the slots of a launch
		ref, wide, auto, units := Reference(), Reference(), Reference(), Reference()
		wide.SeparateWidth = true
		auto.ShedAutomatic = true
		units.SizeByUnits = true
		a, _, err := Decide(&ref, &req, prev)
		if err != nil {
			t.Skip("no plan")
		}
		b, _, err := Decide(&wide, &req, prev)
		if err != nil {
			t.Fatal(err)
		}
		b.WorkgroupSizeX, b.SlotCount, b.DispatchGrid = a.WorkgroupSizeX, a.SlotCount, a.DispatchGrid
		b.ClaimChunk, b.BatchDepth, b.Pressure = a.ClaimChunk, a.BatchDepth, a.Pressure
		if a != b {
			t.Fatalf("separate width changed more than the geometry:\n%+v\n%+v", a, b)
		}
		if u, _, err := Decide(&units, &req, prev); u != a || err != nil {
			t.Fatalf("units are used without separate width:\n%+v\n%+v, %v", a, u, err)
		}
		narrow, whole := Standard(), Standard()
		narrow.TuneGeometry = false
		n, _, errN := Decide(&narrow, &req, prev)
		req.Tuned = Geometry{Width: req.Tuned.Width}
		w, _, errW := Decide(&whole, &req, prev)
		if n.Tuned != 0 || n.DispatchGrid != w.DispatchGrid || n.ClaimChunk != w.ClaimChunk || n.BatchDepth != w.BatchDepth || (errN == nil) != (errW == nil) {
			t.Fatalf("without the switch the tuner chose more than the width:\n%+v, %v\n%+v, %v", n, errN, w, errW)
		}
		c, _, err := Decide(&auto, &req, prev)
		if err != nil {
			t.Fatal(err)
		}
		if req.RequestedWorkerGroups != 0 && a != c {
			t.Fatalf("shedding of automatic requests changed an explicit one:\n%+v\n%+v", a, c)
		}
		if c.WorkerGroups > a.WorkerGroups {
			t.Fatalf("shedding raised the ceiling from %d to %d", a.WorkerGroups, c.WorkerGroups)
		}
	})
}

func TestValidConfigsHaveNoHysteresisErrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Standard()
		cfg.SparseFrontierBps = rapid.Uint16Range(100, 2_000).Draw(t, "sparse")
		cfg.DenseFrontierBps = rapid.Uint16Range(2_100, 9_999).Draw(t, "dense")
		cfg.FrontierHysteresisBps = rapid.Uint16Range(0, 150).Draw(t, "frontier band")
		cfg.MemoryPressureBps = rapid.Uint16Range(1, 10_100).Draw(t, "memory")
		cfg.MemoryHysteresisBps = rapid.Uint16Range(0, 1_000).Draw(t, "memory band")
		if cfg.Validate() != nil {
			t.Skip("not valid")
		}
		req := anyRequest.Draw(t, "req")
		_, _, err := Decide(&cfg, &req, anyState.Draw(t, "prev"))
		if errors.Is(err, ErrHysteresisUnderflow) || errors.Is(err, ErrHysteresisOverflow) || errors.Is(err, ErrMemoryThreshold) {
			t.Fatal(err)
		}
	})
}
