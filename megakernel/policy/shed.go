package policy

import "math"

const (
	// Memory pressure sheds a quarter of the workers at the threshold and
	// half of them at 10,000 bps, linearly between.
	shedBaseBps  = 2_500
	shedRangeBps = 2_500
	// A sparse frontier leaves at least this many workers, or all of them if
	// fewer were asked for.
	sparseFloor = 32
)

// ceilingGroups is the number of workers before shedding: what was asked for,
// 0 being automatic, which ShedAutomatic replaces by what the limits suggest.
func ceilingGroups(cfg *Config, req *Request) uint32 {
	if req.RequestedWorkerGroups == 0 && cfg.ShedAutomatic {
		return derivedGroups(cfg, &req.Limits)
	}
	return req.RequestedWorkerGroups
}

// shed is the number of workers after shedding and, with FullHysteresis, after
// hysteresis. The error is ErrMemoryThreshold.
func shed(cfg *Config, req *Request, walk *Classification, idle bool, state *PlanState, rec *Recommendation) (uint32, error) {
	ceiling := ceilingGroups(cfg, req)
	scheduled, rule, err := scheduledGroups(cfg, req, walk, ceiling)
	if err != nil {
		return 0, err
	}
	rec.ScheduledGroups = scheduled
	if rule != RuleNone {
		shedReason(cfg, walk, rule, rec.addReason())
	}
	workers := heldWorkers(cfg, walk, ceiling, scheduled, idle, state)
	if workers != scheduled {
		workersReason(cfg, ceiling, scheduled, workers, rec.addReason())
	}
	state.Topology, state.CeilingGroups, state.ScheduledGroups = walk.Topology, ceiling, workers
	return workers, nil
}

// scheduledGroups cuts a ceiling of worker groups for the topology and returns
// the rule that did, or RuleNone. A ceiling of 0 or 1 is never cut.
func scheduledGroups(cfg *Config, req *Request, walk *Classification, ceiling uint32) (uint32, Rule, error) {
	switch {
	case ceiling <= 1:
	case walk.Topology == TopologyMemoryConstrained && walk.PressureKnown:
		n, err := shedMemory(cfg, walk.MemoryPressureBps, ceiling)
		return n, RuleShedMemory, err
	case walk.Topology == TopologySparse && walk.DensityKnown && req.GraphNodeCount != 0:
		if n := shedSparse(cfg, walk.FrontierDensityBps, ceiling); n != ceiling {
			return n, RuleShedSparse, nil
		}
	}
	return ceiling, RuleNone, nil
}

// shedMemory leaves ceiling * (10,000 - share) / 10,000 workers, at least 1.
func shedMemory(cfg *Config, pressureBps uint16, ceiling uint32) (uint32, error) {
	threshold := uint32(cfg.MemoryPressureBps)
	if threshold > FullBps {
		return 0, ErrMemoryThreshold
	}
	span := max(FullBps-threshold, 1)
	over := uint32(0)
	if pressure := uint32(pressureBps); pressure > threshold {
		over = min(pressure-threshold, span)
	}
	share := shedBaseBps + over*shedRangeBps/span
	return uint32(max(uint64(ceiling)*uint64(FullBps-share)/FullBps, 1)), nil
}

// shedSparse scales the workers with the density, from the sparse threshold
// (all of them) down to the floor.
func shedSparse(cfg *Config, densityBps uint16, ceiling uint32) uint32 {
	span := max(uint64(cfg.SparseFrontierBps), 1)
	density := min(max(uint64(densityBps), 1), span)
	scaled := uint32(uint64(ceiling) * density / span)
	return max(scaled, min(ceiling, sparseFloor))
}

// heldWorkers keeps the number of workers while shedding for one topology and
// from one ceiling asks for nearly the same: a change of the request, of the
// limits behind an automatic one, or of the topology, which has a hysteresis
// of its own, is followed at once. Anything else is with Steady when enough
// decisions in a row ask for it.
func heldWorkers(cfg *Config, walk *Classification, ceiling, wanted uint32, idle bool, state *PlanState) uint32 {
	held := state.ScheduledGroups
	if !cfg.FullHysteresis || state.Topology != walk.Topology || state.CeilingGroups != ceiling || held == 0 || held > ceiling {
		state.WorkersAsked = 0
		return wanted
	}
	lo, hi := workerBand(cfg, held)
	if !idle && cfg.persists(wanted < lo || wanted > hi, &state.WorkersAsked) {
		return wanted
	}
	return held
}

// workerBand is the range of numbers in which held is kept.
func workerBand(cfg *Config, held uint32) (lo, hi uint32) {
	band := min(uint64(held)*uint64(cfg.WorkerHysteresisBps)/FullBps, uint64(held))
	return held - uint32(band), uint32(min(uint64(held)+band, math.MaxUint32))
}

// workersReason says by how much what shedding asks for must move to be taken:
// on, or back where the ceiling is in the way.
func workersReason(cfg *Config, ceiling, wanted, held uint32, r *Reason) {
	lo, hi := workerBand(cfg, held)
	r.Rule, r.Held, r.Value = RuleWorkers, true, uint64(wanted)
	if wanted > held && hi < ceiling {
		r.Threshold, r.Distance = uint64(hi)+1, sub(uint64(hi)+1, uint64(wanted))
	} else {
		r.Threshold, r.Distance = sub(uint64(lo), 1), sub(uint64(wanted)+1, uint64(lo))
	}
}

// shedReason says where the shedding by rule would end.
func shedReason(cfg *Config, sig *Classification, rule Rule, r *Reason) {
	if rule == RuleShedMemory {
		r.leavesBelow(rule, uint64(sig.MemoryPressureBps), below(cfg.MemoryPressureBps, cfg.MemoryHysteresisBps))
		return
	}
	r.Rule, r.Value, r.Threshold = rule, uint64(sig.FrontierDensityBps), uint64(cfg.SparseFrontierBps)
	r.Distance = sub(r.Threshold, r.Value)
}
