package policy

// Plan runs the stages shed to age. On an error the recommendation is zero
// and the state returned is prev.
func Plan(cfg *Config, o *Observation, c *Classification, prev PlanState) (Recommendation, PlanState, error) {
	if c.Err != nil {
		return Recommendation{}, prev, c.Err
	}
	var rec Recommendation
	rec.Reasons[0] = c.Reason
	rec.Reasons[0].Held = c.Topology != c.Raw
	if err := plan(cfg, &o.Request, &o.Signals, c.Raw, c.Topology, &rec, &prev); err != nil {
		return Recommendation{}, prev, err
	}
	return rec, prev, nil
}

// plan fills in a recommendation that has the reason of its topology and no
// other, and moves the state on; after an error the recommendation is
// undefined and the state untouched. It is one function because a decision
// took 3 to 12 ns longer, of 64, when parts of it were functions of their own.
func plan(cfg *Config, req *Request, sig *Signals, raw, topology Topology, rec *Recommendation, state *PlanState) error {
	ceiling := req.RequestedWorkerGroups
	if ceiling == 0 && cfg.ShedAutomatic {
		ceiling = derivedGroups(&cfg.Sizing, &req.Limits)
	}
	scheduled, shedRule := ceiling, RuleNone
	if topology == TopologyMemoryConstrained || topology == TopologySparse {
		var err error
		if scheduled, shedRule, err = shed(cfg, req, sig, topology, ceiling); err != nil {
			return err
		}
	}
	workers := scheduled
	// Here, and not in holdWorkers, so that the common case is one branch.
	if cfg.FullHysteresis && bit(state.Topology == topology)&bit(state.CeilingGroups == ceiling)&bit(state.ScheduledGroups != scheduled) != 0 {
		workers = holdWorkers(cfg, state, ceiling, scheduled)
	}
	if err := shape(cfg, req, workers, rec); err != nil {
		return err
	}
	scarce := memoryScarce(cfg, sig, topology)
	wanted, over := wantedHits(cfg, req, scarce)
	if over|rec.takeHits(cfg, req, wanted) != 0 {
		if err := fitHits(cfg, req, wanted, over != 0, rec); err != nil {
			return err
		}
	}

	rec.InFlight = wavesInFlight(cfg, req.QueueLen, rec.BatchDepth, scarce, state.InFlight)
	rec.Pressure = pressureClass(cfg, req, uint64(rec.DispatchGrid[0])*uint64(rec.WorkgroupSizeX))
	rec.Topology, rec.RawTopology = topology, raw
	opcodes, windows := sig.PromoteHotOpcodes, sig.PromoteHotWindows
	if cfg.FullHysteresis {
		opcodes = bit(opcodes)|bit(state.PromoteHotOpcodes)&bit(sig.WarmOpcodes) != 0
		windows = bit(windows)|bit(state.PromoteHotWindows)&bit(sig.WarmWindows) != 0
	}
	rec.PromoteHotOpcodes, rec.PromoteHotWindows = opcodes, windows
	rec.AgePriorityWork = req.RequeueCount > 0 || req.MaxPriorityAge >= cfg.PriorityAgeThreshold
	rec.MemoryBudgetBytes = req.MemoryBudgetBytes
	// One by one: as a pair they are read as one word, which has to wait until
	// the two halves, just written, have left the store queue.
	rec.FrontierDensityBps = sig.FrontierDensityBps
	rec.MemoryPressureBps = sig.MemoryPressureBps
	rec.ScheduledGroups = scheduled

	n := 1
	if sig.PressureKnown {
		pressureReason(cfg, sig, topology, &rec.Reasons[0], &rec.Reasons[n])
		n++
	}
	if shedRule != RuleNone {
		shedReason(cfg, sig, shedRule, &rec.Reasons[n])
		n++
	}
	if workers != scheduled {
		workersReason(cfg, ceiling, scheduled, workers, &rec.Reasons[n])
		n++
	}
	if req.Tuned.given() && cfg.SeparateWidth && cfg.TuneGeometry {
		rec.Reasons[n].tuned(&cfg.Sizing, req.Tuned.Groups, rec.WorkerGroups)
		n++
	}
	if rec.HitCapacityReduced {
		rec.Reasons[n].budget(wanted, rec.HitCapacity)
		n++
	}
	m := mode(cfg, req, sig, rec, state.Mode, &rec.Reasons[n])
	rec.Mode = m
	rec.ReasonCount = uint8(n + 1)

	state.WorkgroupSizeX, state.Groups, state.Mode = rec.WorkgroupSizeX, rec.DispatchGrid[0], m
	state.PromoteHotOpcodes, state.PromoteHotWindows = opcodes, windows
	state.Topology, state.CeilingGroups, state.ScheduledGroups = topology, ceiling, workers
	state.InFlight = rec.InFlight
	return nil
}

// mode compiles for long queues, for hot code and for fused walks, and
// interprets otherwise. A queue that has become shorter keeps a compiled
// kernel within the band.
func mode(cfg *Config, req *Request, sig *Signals, rec *Recommendation, prev Mode, why *Reason) Mode {
	var band, opcodes, windows uint64
	if cfg.FullHysteresis {
		band, opcodes, windows = uint64(cfg.JITQueueLenHysteresis), uint64(cfg.HotOpcodeHysteresis), uint64(cfg.HotWindowHysteresis)
	}
	queue, threshold := uint64(req.QueueLen), uint64(cfg.JITQueueLenThreshold)
	switch {
	case queue >= threshold:
		why.keeps(RuleModeQueueLen, false, queue, sub(threshold, band))
	case rec.PromoteHotOpcodes:
		why.keeps(RuleModeHotOpcodes, !sig.PromoteHotOpcodes, uint64(req.HotOpcodeCount), sub(uint64(cfg.HotOpcodeThreshold), opcodes))
	case rec.PromoteHotWindows:
		why.keeps(RuleModeHotWindows, !sig.PromoteHotWindows, uint64(req.HotWindowCount), sub(uint64(cfg.HotWindowThreshold), windows))
	case rec.Topology == TopologyFused:
		why.follows(RuleModeFused, &rec.Reasons[0])
	case prev == ModeJIT && queue+band >= threshold:
		why.keeps(RuleModeQueueLen, true, queue, sub(threshold, band))
	default:
		why.crosses(RuleModeQueueLen, queue, threshold)
		return ModeInterpreter
	}
	return ModeJIT
}
