package policy

// launchMode says how a launch of so many slots reaches the device: as a wave, or on a kernel
// that stays there, where the worker has one and the slots fit a round of it. A round saves the
// start of a wave and has one workgroup. So with ByCost the one that takes less time is taken
// once both were measured, and until then a round, or a wave to learn what that takes.
func launchMode(cfg *Config, req *Request, slots uint32, idle bool, state *PlanState, rec *Recommendation) LaunchMode {
	lease, leased, wave := &req.Lease, &req.Leased, &req.Interpreted
	if state.Mode == ModeJIT {
		wave = &req.Compiled
	}
	if lease.Slots == 0 {
		state.LaunchMode, state.LaunchModeAsked = LaunchWave, 0
		return LaunchWave
	}
	why := rec.addReason()
	switch {
	case slots > lease.Slots:
		why.leavesBelow(RuleLeaseSlots, uint64(slots), uint64(lease.Slots)+1)
		state.LaunchMode = LaunchWave
	case lease.Refused:
		why.leavesAbove(RuleLeaseRefused, uint64(slots), uint64(lease.Slots))
		state.LaunchMode = LaunchWave
	case cfg.ByCost && !lease.Always && leased.known() && wave.known():
		state.LaunchMode = launchModeByCost(cfg, leased.Ns(slots), wave.Ns(slots), idle, state, why)
	default:
		why.leavesAbove(RuleLeaseSlots, uint64(slots), uint64(lease.Slots))
		state.LaunchMode = LaunchLease
		if cfg.ByCost && !lease.Always && leased.known() && req.learns() && !idle {
			*why = Reason{Rule: RuleLeaseLearn, Value: leased.Ns(slots)}
			return LaunchWave
		}
	}
	return state.LaunchMode
}

// launchModeByCost keeps what was before until the other is clearly cheaper. The reason tells
// what a round takes, and when that is left or taken.
func launchModeByCost(cfg *Config, leased, wave uint64, idle bool, state *PlanState, why *Reason) LaunchMode {
	mode := state.LaunchMode
	switch {
	case state.WorkgroupSizeX == 0:
		mode = LaunchWave
		if leased < wave {
			mode = LaunchLease
		}
	case mode == LaunchLease && cfg.otherIsCheaper(leased, wave, idle, &state.LaunchModeAsked):
		mode = LaunchWave
	case mode == LaunchWave && cfg.otherIsCheaper(wave, leased, idle, &state.LaunchModeAsked):
		mode = LaunchLease
	}
	cfg.explainCost(RuleLeaseCost, mode == LaunchLease, leased, wave, cfg.clearlyBelow(wave)+1, why)
	return mode
}
