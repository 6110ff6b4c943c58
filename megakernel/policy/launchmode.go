package policy

// launchMode says how a launch of so many slots reaches the device: as a wave, or on a kernel
// that stays there, where the worker has one and the slots fit a round of it. A round saves the
// start of a wave, most of which the host takes, and has one workgroup. So with ByCost the one
// that takes less time, the host's included, is taken once both were measured, and until then a
// round, or a wave to learn what that takes.
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
		return LaunchWave // what was chosen for those that fit is kept
	case lease.Refused:
		why.leavesAbove(RuleLeaseRefused, uint64(slots), uint64(lease.Slots))
		state.LaunchMode = LaunchWave
	case cfg.ByCost && !lease.Always && leased.known() && wave.known():
		ns := addSaturating(wave.Ns(slots), req.WaveHostNs)
		of := contest{RuleLeaseCost, leased.Ns(slots), ns, cfg.clearlyBelow(ns) + 1, &state.LaunchModeAsked}
		was := state.LaunchMode == LaunchLease
		state.LaunchMode = LaunchWave
		if cfg.first(of, was, idle, state, why) {
			state.LaunchMode = LaunchLease
		}
	default:
		why.leavesAbove(RuleLeaseSlots, uint64(slots), uint64(lease.Slots))
		state.LaunchMode = LaunchLease
		if cfg.ByCost && !lease.Always && leased.known() && req.learns() {
			*why = Reason{Rule: RuleLeaseLearn, Value: leased.Ns(slots)}
			return LaunchWave
		}
	}
	return state.LaunchMode
}
