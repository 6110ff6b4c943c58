package policy

// Plan runs the stages shed to age. On an error the recommendation is zero
// and the state returned is prev.
func Plan(cfg *Config, o *Observation, c *Classification, prev PlanState) (Recommendation, PlanState, error) {
	var rec Recommendation
	if err := plan(cfg, &o.Request, &o.Signals, c, &rec, &prev); err != nil {
		return Recommendation{}, prev, err
	}
	return rec, prev, nil
}

// plan fills a zero recommendation and moves the state on; after an error the
// recommendation is undefined and the state untouched.
func plan(cfg *Config, req *Request, sig *Signals, c *Classification, rec *Recommendation, state *PlanState) error {
	if c.Err != nil {
		return c.Err
	}
	ceiling := req.RequestedWorkerGroups
	if ceiling == 0 && cfg.ShedAutomatic {
		ceiling = derivedGroups(&cfg.Sizing, &req.Limits)
	}
	scheduled, shedRule, err := shed(cfg, req, sig, c.Topology, ceiling)
	if err != nil {
		return err
	}
	workers := scheduled
	if cfg.FullHysteresis {
		workers = holdWorkers(cfg, state, c.Topology, ceiling, scheduled)
	}
	if err := shape(cfg, req, workers, rec); err != nil {
		return err
	}
	scarce := memoryScarce(cfg, sig, c.Topology)
	wanted, err := sizeHits(cfg, req, scarce, rec)
	if err != nil {
		return err
	}

	rec.InFlight = wavesInFlight(cfg, req.QueueLen, rec.BatchDepth, scarce, state.InFlight)
	rec.Pressure = pressureClass(cfg, req, uint64(rec.DispatchGrid[0])*uint64(rec.WorkgroupSizeX))
	rec.Topology = c.Topology
	rec.PromoteHotOpcodes = sig.PromoteHotOpcodes || cfg.FullHysteresis && state.PromoteHotOpcodes && sig.WarmOpcodes
	rec.PromoteHotWindows = sig.PromoteHotWindows || cfg.FullHysteresis && state.PromoteHotWindows && sig.WarmWindows
	rec.AgePriorityWork = req.RequeueCount > 0 || req.MaxPriorityAge >= cfg.PriorityAgeThreshold
	rec.MemoryBudgetBytes = req.MemoryBudgetBytes

	rec.FrontierDensityBps = sig.FrontierDensityBps
	rec.MemoryPressureBps = sig.MemoryPressureBps
	rec.RawTopology = c.Raw
	rec.ScheduledGroups = scheduled

	rec.Reasons[0].follows(c.Reason.Rule, &c.Reason)
	n := 1
	if sig.PressureKnown {
		pressureReason(cfg, sig, c, &rec.Reasons[n])
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
	if req.Tuned != (Geometry{}) && cfg.SeparateWidth && cfg.TuneGeometry {
		rec.Reasons[n].tuned(&cfg.Sizing, req.Tuned.Groups, rec.WorkerGroups)
		n++
	}
	if rec.HitCapacityReduced {
		rec.Reasons[n].budget(wanted, rec.HitCapacity)
		n++
	}
	rec.Mode = mode(cfg, req, sig, c, rec, state.Mode, &rec.Reasons[n])
	rec.ReasonCount = uint8(n + 1)

	state.WorkgroupSizeX, state.Groups, state.Mode = rec.WorkgroupSizeX, rec.DispatchGrid[0], rec.Mode
	state.PromoteHotOpcodes, state.PromoteHotWindows = rec.PromoteHotOpcodes, rec.PromoteHotWindows
	state.Topology, state.CeilingGroups, state.ScheduledGroups = c.Topology, ceiling, workers
	state.InFlight = rec.InFlight
	return nil
}

// mode compiles for long queues, for hot code and for fused walks, and
// interprets otherwise. A queue that has become shorter keeps a compiled
// kernel within the band.
func mode(cfg *Config, req *Request, sig *Signals, c *Classification, rec *Recommendation, prev Mode, why *Reason) Mode {
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
	case c.Topology == TopologyFused:
		why.follows(RuleModeFused, &c.Reason)
	case prev == ModeJIT && queue+band >= threshold:
		why.keeps(RuleModeQueueLen, true, queue, sub(threshold, band))
	default:
		why.crosses(RuleModeQueueLen, queue, threshold)
		return ModeInterpreter
	}
	return ModeJIT
}
