package policy

// Decide makes one decision: which walk, then which launch. Whoever decides calls it: the
// actors, a graph job's desk, replay, the golden vectors and the benchmark.
//
// On an error the recommendation is zero and the plan's part of the state is
// the one that went in. The topology's part moves on if the topology could be
// told: what the signals said holds whether or not a plan fits.
func Decide(cfg *Config, req *Request, prev State) (rec Recommendation, next State, err error) {
	var walk Classification
	if err = walk.classify(cfg, req, prev.Topology.Topology); err != nil {
		return rec, prev, err
	}
	next.Topology = walk.dwell(cfg, req, prev.Topology)
	next.Plan = prev.Plan
	if err = plan(cfg, req, &walk, &next.Plan, &rec); err != nil {
		rec, next.Plan = Recommendation{}, prev.Plan
	} else if cfg.Steady && req.QueueLen == 0 {
		next.Plan = prev.Plan // an empty queue changes nothing
	}
	return rec, next, err
}

// classify decides how the work is walked. It fills in c, which is zero.
func (c *Classification) classify(cfg *Config, req *Request, prev Topology) (err error) {
	c.observe(cfg, req)
	if cfg.StrictBps && max(c.FrontierDensityBps, c.MemoryPressureBps) > FullBps {
		return ErrBps
	}
	c.Raw = rawTopology(cfg, req, &c.Signals)
	if c.Topology, err = stabilise(cfg, req, &c.Signals, c.Raw, prev); err != nil {
		return err
	}
	topologyReason(cfg, req, c)
	return nil
}

// plan decides what is launched, one function for each question. It fills in rec, which is
// zero, and moves the state on; after an error both are undefined.
func plan(cfg *Config, req *Request, walk *Classification, state *PlanState, rec *Recommendation) error {
	walk.tell(cfg, req, rec)
	idle := cfg.idle(req, state)
	if idle && walk.Topology == TopologyEmpty {
		walk.Topology = state.Topology
	}
	length := plannedLength(cfg, req.QueueLen, state)
	turn := turnSlots(cfg, req, state)
	workers, err := shed(cfg, req, walk, idle, state, rec)
	if err != nil {
		return err
	}
	if err := geometry(cfg, req, length, turn, workers, state, rec); err != nil {
		return err
	}
	rec.Pressure = pressure(cfg, req, rec)
	scarce := memoryScarce(cfg, walk)
	if err := memory(cfg, req, walk, scarce, rec); err != nil {
		return err
	}
	rec.InFlight = inFlight(cfg, req, length, rec.BatchDepth, turn, scarce)
	promote(cfg, walk, state, rec)
	slots := min(max(length, 1), rec.BatchDepth)
	rec.LaunchMode = launchMode(cfg, req, slots, idle, state, rec)
	rec.Mode = mode(cfg, req, walk, slots, idle, state, rec)
	rec.AgePriorityWork = age(cfg, req)
	state.WorkgroupSizeX, state.Groups = rec.WorkgroupSizeX, rec.DispatchGrid[0]
	return nil
}
