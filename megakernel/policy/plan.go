package policy

// Plan runs the stages shed to age. On an error the recommendation is zero
// and the state returned is prev.
func Plan(cfg *Config, o *Observation, c *Classification, prev PlanState) (Recommendation, PlanState, error) {
	var rec Recommendation
	if err := plan(cfg, &o.Request, &o.Signals, c, &rec); err != nil {
		return Recommendation{}, prev, err
	}
	return rec, planState(&rec), nil
}

func planState(rec *Recommendation) PlanState {
	return PlanState{WorkgroupSizeX: rec.WorkgroupSizeX, Groups: rec.DispatchGrid[0], Mode: rec.Mode}
}

// plan fills a zero recommendation; after an error its content is undefined.
func plan(cfg *Config, req *Request, sig *Signals, c *Classification, rec *Recommendation) error {
	if c.Err != nil {
		return c.Err
	}
	scheduled, shedRule, err := schedule(cfg, req, sig, c.Topology)
	if err != nil {
		return err
	}
	if err := shape(cfg, req, scheduled, rec); err != nil {
		return err
	}
	wanted, err := sizeHits(cfg, req, memoryScarce(cfg, sig, c.Topology), rec)
	if err != nil {
		return err
	}

	rec.Pressure = pressureClass(cfg, req, uint64(rec.DispatchGrid[0])*uint64(rec.WorkgroupSizeX))
	rec.Topology = c.Topology
	rec.PromoteHotOpcodes = sig.PromoteHotOpcodes
	rec.PromoteHotWindows = sig.PromoteHotWindows
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
	if rec.HitCapacityReduced {
		rec.Reasons[n].budget(wanted, rec.HitCapacity)
		n++
	}
	rec.Mode = mode(cfg, req, sig, c, &rec.Reasons[n])
	rec.ReasonCount = uint8(n + 1)
	return nil
}

// schedule is the worker request after shedding. Where automatic requests are
// shed it is never 0, unless the device allows no groups.
func schedule(cfg *Config, req *Request, sig *Signals, topology Topology) (uint32, Rule, error) {
	ceiling := req.RequestedWorkerGroups
	if ceiling == 0 && cfg.ShedAutomatic {
		ceiling = derivedGroups(&cfg.Sizing, &req.Limits)
	}
	return shed(cfg, req, sig, topology, ceiling)
}

// mode compiles for long queues, for hot code and for fused walks, and
// interprets otherwise.
func mode(cfg *Config, req *Request, sig *Signals, c *Classification, why *Reason) Mode {
	switch {
	case req.QueueLen >= cfg.JITQueueLenThreshold:
		why.crosses(RuleModeQueueLen, uint64(req.QueueLen), uint64(cfg.JITQueueLenThreshold))
	case sig.PromoteHotOpcodes:
		why.crosses(RuleModeHotOpcodes, uint64(req.HotOpcodeCount), uint64(cfg.HotOpcodeThreshold))
	case sig.PromoteHotWindows:
		why.crosses(RuleModeHotWindows, uint64(req.HotWindowCount), uint64(cfg.HotWindowThreshold))
	case c.Topology == TopologyFused:
		why.follows(RuleModeFused, &c.Reason)
	default:
		why.crosses(RuleModeQueueLen, uint64(req.QueueLen), uint64(cfg.JITQueueLenThreshold))
		return ModeInterpreter
	}
	return ModeJIT
}
