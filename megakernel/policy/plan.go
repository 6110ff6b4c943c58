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
	slots := min(max(length, 1), rec.BatchDepth)
	rec.LaunchMode = launchMode(cfg, req, slots, idle, state, rec)
	rec.Mode = mode(cfg, req, walk, slots, idle, state, rec)
	rec.AgePriorityWork = age(cfg, req)

	state.WorkgroupSizeX, state.Groups = rec.WorkgroupSizeX, rec.DispatchGrid[0]
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

// age says whether waiting work has to be aged: it came back, or waits long.
func age(cfg *Config, req *Request) bool {
	return req.RequeueCount > 0 || req.MaxPriorityAge >= cfg.PriorityAgeThreshold
}
