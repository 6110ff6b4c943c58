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

// shed cuts a ceiling of worker groups for the final topology and returns the
// rule that did, or RuleNone. A ceiling of 0 or 1 is never cut. The error is
// ErrMemoryThreshold.
func shed(cfg *Config, req *Request, sig *Signals, topology Topology, ceiling uint32) (uint32, Rule, error) {
	if ceiling <= 1 {
		return ceiling, RuleNone, nil
	}
	switch {
	case topology == TopologyMemoryConstrained && sig.PressureKnown:
		n, err := shedMemory(cfg, sig.MemoryPressureBps, ceiling)
		return n, RuleShedMemory, err
	case topology == TopologySparse && sig.DensityKnown && req.GraphNodeCount != 0:
		n := shedSparse(cfg, sig.FrontierDensityBps, ceiling)
		if n == ceiling {
			return n, RuleNone, nil
		}
		return n, RuleShedSparse, nil
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

// holdWorkers keeps the number of workers while shedding for the same topology
// and from the same ceiling asks for nearly the same: a change of the request,
// of the limits behind an automatic one, or of the topology, which has a
// hysteresis of its own, is followed at once.
func holdWorkers(cfg *Config, held *PlanState, ceiling, wanted uint32) uint32 {
	if held.ScheduledGroups > ceiling || held.ScheduledGroups == 0 {
		return wanted
	}
	lo, hi := workerBand(cfg, held.ScheduledGroups)
	if wanted < lo || wanted > hi {
		return wanted
	}
	return held.ScheduledGroups
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
		r.Threshold, r.Distance = uint64(hi)+1, uint64(hi-wanted)+1
	} else {
		r.Threshold, r.Distance = sub(uint64(lo), 1), uint64(wanted-lo)+1
	}
}

// shedReason says where the shedding by rule would end.
func shedReason(cfg *Config, sig *Signals, rule Rule, r *Reason) {
	r.Rule = rule
	if rule == RuleShedMemory {
		r.leavesBelow(uint64(sig.MemoryPressureBps), sub(uint64(cfg.MemoryPressureBps), uint64(cfg.MemoryHysteresisBps)))
		return
	}
	r.Value, r.Threshold = uint64(sig.FrontierDensityBps), uint64(cfg.SparseFrontierBps)
	r.Distance = sub(r.Threshold, r.Value)
}
