package policy

// Plan runs the stages shed to age. On an error the recommendation is zero
// and the state returned is prev.
func Plan(cfg *Config, o *Observation, c *Classification, prev PlanState) (Recommendation, PlanState, error) {
	var rec Recommendation
	if err := plan(cfg, o, c, &rec); err != nil {
		return Recommendation{}, prev, err
	}
	return rec, planState(&rec), nil
}

func planState(rec *Recommendation) PlanState {
	return PlanState{WorkgroupSizeX: rec.WorkgroupSizeX, Groups: rec.DispatchGrid[0], Mode: rec.Mode}
}

// plan fills a zero recommendation; after an error its content is undefined.
func plan(cfg *Config, o *Observation, c *Classification, rec *Recommendation) error {
	if c.Err != nil {
		return c.Err
	}
	req := &o.Request
	scheduled, shedRule, err := schedule(cfg, o, c.Topology)
	if err != nil {
		return err
	}
	g, err := cfg.geometry(req, scheduled)
	if err != nil {
		return err
	}
	hits, err := hitCapacity(cfg, o)
	if err != nil {
		return err
	}
	peak, err := peakBytes(cfg, req, hits)
	if err != nil {
		return err
	}

	rec.WorkgroupSizeX = g.width
	rec.SlotCount = g.slots
	rec.DispatchGrid = [3]uint32{g.groups, 1, 1}
	rec.WorkerGroups = g.worker
	rec.ClaimChunk = g.chunk
	rec.BatchDepth = g.depth
	rec.HitCapacity = hits
	rec.Pressure = pressureClass(cfg, req, uint64(g.groups)*uint64(g.width))
	rec.Topology = c.Topology
	rec.PromoteHotOpcodes = o.PromoteHotOpcodes
	rec.PromoteHotWindows = o.PromoteHotWindows
	rec.AgePriorityWork = req.RequeueCount > 0 || req.MaxPriorityAge >= cfg.PriorityAgeThreshold
	rec.EstimatedPeakBytes = peak
	rec.MemoryBudgetBytes = req.MemoryBudgetBytes

	rec.FrontierDensityBps = o.FrontierDensityBps
	rec.MemoryPressureBps = o.MemoryPressureBps
	rec.RawTopology = c.Raw
	rec.ScheduledGroups = scheduled

	rec.Reasons[0] = c.Reason
	n := 1
	if o.PressureKnown {
		rec.Reasons[n] = memoryReason(cfg, o)
		n++
	}
	if shedRule != RuleNone {
		rec.Reasons[n] = shedReason(cfg, o, shedRule)
		n++
	}
	rec.Mode = mode(cfg, o, c, &rec.Reasons[n])
	rec.ReasonCount = uint8(n + 1)
	return nil
}

// schedule is the worker request after shedding. Where automatic requests are
// shed it is never 0, unless the device allows no groups.
func schedule(cfg *Config, o *Observation, topology Topology) (uint32, Rule, error) {
	ceiling := o.Request.RequestedWorkerGroups
	if ceiling == 0 && cfg.ShedAutomatic {
		ceiling = derivedGroups(&cfg.Sizing, &o.Request.Limits)
	}
	return shed(cfg, o, topology, ceiling)
}

// mode compiles for long queues, for hot code and for fused walks, and
// interprets otherwise.
func mode(cfg *Config, o *Observation, c *Classification, why *Reason) Mode {
	queue := crossing(RuleModeQueueLen, uint64(o.Request.QueueLen), uint64(cfg.JITQueueLenThreshold))
	switch {
	case o.Request.QueueLen >= cfg.JITQueueLenThreshold:
		*why = queue
	case o.PromoteHotOpcodes:
		*why = crossing(RuleModeHotOpcodes, uint64(o.Request.HotOpcodeCount), uint64(cfg.HotOpcodeThreshold))
	case o.PromoteHotWindows:
		*why = crossing(RuleModeHotWindows, uint64(o.Request.HotWindowCount), uint64(cfg.HotWindowThreshold))
	case c.Topology == TopologyFused:
		*why = c.Reason
		why.Rule = RuleModeFused
	default:
		*why = queue
		return ModeInterpreter
	}
	return ModeJIT
}
