package policy

// plan runs the stages from shed to age, one function each. It fills in rec,
// which is zero, and moves the state on; after an error both are undefined.
func plan(cfg *Config, req *Request, walk *Classification, state *PlanState, rec *Recommendation) error {
	rec.Topology, rec.RawTopology = walk.Topology, walk.Raw
	rec.FrontierDensityBps = walk.FrontierDensityBps
	rec.MemoryPressureBps = walk.MemoryPressureBps
	rec.MemoryBudgetBytes = req.MemoryBudgetBytes
	rec.addReason().follows(walk.Reason.Rule, &walk.Reason)
	if walk.PressureKnown && walk.Topology != TopologyNone {
		memoryReason(cfg, walk, rec.addReason())
	}
	idle := cfg.idle(req, state)
	if idle && walk.Topology == TopologyEmpty {
		remembered := *walk
		remembered.Topology = state.Topology
		walk = &remembered
	}
	length := plannedLength(cfg, req.QueueLen, state)
	ceiling := ceilingGroups(cfg, req)
	workers, err := shed(cfg, req, walk, ceiling, idle, state, rec)
	if err != nil {
		return err
	}
	turn := turnSlots(cfg, req, state)
	if err := geometry(cfg, req, length, turn, workers, rec); err != nil {
		return err
	}
	rec.Pressure = pressure(cfg, req, rec)
	scarce := memoryScarce(cfg, walk)
	if !hasHits(req, walk) {
		noHits(req, rec)
	} else if err := hits(cfg, req, scarce, rec); err != nil {
		return err
	}
	rec.InFlight = inFlight(cfg, req, length, rec.BatchDepth, turn, scarce)
	promote(cfg, walk, state, rec)
	rec.Mode = mode(cfg, req, walk, idle, state, rec)
	rec.AgePriorityWork = age(cfg, req)

	state.WorkgroupSizeX, state.Groups, state.Mode = rec.WorkgroupSizeX, rec.DispatchGrid[0], rec.Mode
	state.PromoteHotOpcodes, state.PromoteHotWindows = rec.PromoteHotOpcodes, rec.PromoteHotWindows
	state.Topology, state.CeilingGroups, state.ScheduledGroups = walk.Topology, ceiling, workers
	return nil
}

// promote flags hot opcodes and windows. With FullHysteresis what is promoted
// stays so within the band.
func promote(cfg *Config, sig *Classification, prev *PlanState, rec *Recommendation) {
	rec.PromoteHotOpcodes, rec.PromoteHotWindows = sig.PromoteHotOpcodes, sig.PromoteHotWindows
	if cfg.FullHysteresis {
		rec.PromoteHotOpcodes = sig.PromoteHotOpcodes || prev.PromoteHotOpcodes && sig.WarmOpcodes
		rec.PromoteHotWindows = sig.PromoteHotWindows || prev.PromoteHotWindows && sig.WarmWindows
	}
}

// mode compiles for long queues, for hot code and for fused walks, and
// interprets otherwise. With FullHysteresis a queue that has become shorter
// keeps a compiled kernel within the band, and with Steady either is kept until
// enough decisions in a row ask for the other, or twice the threshold is queued.
func mode(cfg *Config, req *Request, sig *Classification, idle bool, state *PlanState, rec *Recommendation) Mode {
	queue, threshold := uint64(req.QueueLen), uint64(cfg.JITQueueLenThreshold)
	band := uint64(0)
	if cfg.FullHysteresis {
		band = uint64(cfg.JITQueueLenHysteresis)
	}
	opcodeBand, windowBand := hotBands(cfg)
	near := queue >= threshold && queue < 2*threshold && !rec.PromoteHotOpcodes && !rec.PromoteHotWindows && sig.Topology != TopologyFused
	why := rec.addReason()
	switch {
	case near && state.interprets() && !cfg.persists(true, &state.ModeAsked):
		why.Rule, why.Value, why.Threshold, why.Held = RuleModeQueueLen, queue, threshold, true
		return ModeInterpreter
	case queue >= threshold:
		why.leavesBelow(RuleModeQueueLen, queue, sub(threshold, band))
	case rec.PromoteHotOpcodes:
		why.leavesBelow(RuleModeHotOpcodes, uint64(req.HotOpcodeCount), sub(uint64(cfg.HotOpcodeThreshold), opcodeBand))
		why.Held = !sig.PromoteHotOpcodes
	case rec.PromoteHotWindows:
		why.leavesBelow(RuleModeHotWindows, uint64(req.HotWindowCount), sub(uint64(cfg.HotWindowThreshold), windowBand))
		why.Held = !sig.PromoteHotWindows
	case rec.Topology == TopologyFused:
		why.follows(RuleModeFused, &sig.Reason)
	case state.Mode == ModeJIT && (idle || !cfg.persists(queue+band < threshold, &state.ModeAsked)):
		why.leavesBelow(RuleModeQueueLen, queue, sub(threshold, band))
		why.Held = true
		return ModeJIT
	default:
		why.crosses(RuleModeQueueLen, queue, threshold)
		state.ModeAsked = 0
		return ModeInterpreter
	}
	state.ModeAsked = 0
	return ModeJIT
}

// interprets says whether there was a plan, and that one interpreted.
func (s *PlanState) interprets() bool { return s.WorkgroupSizeX != 0 && s.Mode == ModeInterpreter }

// age says whether waiting work has to be aged: it came back, or waits long.
func age(cfg *Config, req *Request) bool {
	return req.RequeueCount > 0 || req.MaxPriorityAge >= cfg.PriorityAgeThreshold
}
