package policy

import (
	"math"
	"math/bits"
)

// memoryScarce says whether hits must do without head room.
func memoryScarce(cfg *Config, sig *Signals, topology Topology) bool {
	if cfg.StrictBps {
		return topology == TopologyMemoryConstrained
	}
	return sig.MemoryPressureBps >= cfg.MemoryPressureBps
}

// pressureReason says how far the hit capacity is from losing its head room,
// or from having it back.
func pressureReason(cfg *Config, sig *Signals, c *Classification, r *Reason) {
	if cfg.StrictBps && c.Topology == TopologyMemoryConstrained {
		r.follows(RuleMemoryPressure, &c.Reason)
		return
	}
	r.crosses(RuleMemoryPressure, uint64(sig.MemoryPressureBps), uint64(cfg.MemoryPressureBps))
}

// pressureClass compares the queue with the invocations of one launch.
// Requeued work means that earlier launches could not keep up.
func pressureClass(cfg *Config, req *Request, lanes uint64) Pressure {
	queue := uint64(req.QueueLen)
	lanes = max(lanes, 1)
	switch {
	case queue == 0:
		return PressureEmpty
	case req.RequeueCount > 0 || queue >= lanes*uint64(cfg.SaturatedWaves):
		return PressureSaturated
	case queue >= lanes:
		return PressureBalanced
	default:
		return PressureLight
	}
}

// hitCapacity is the requested capacity, or queue * hits per item * head room,
// at least the minimum; there is no head room where memory is scarce. A requested capacity is taken as it is; what it costs
// is judged by peakBytes. The error is ErrHitCapacity.
func hitCapacity(cfg *Config, req *Request, scarce bool) (uint32, error) {
	if req.RequestedHitCapacity != 0 {
		return req.RequestedHitCapacity, nil
	}
	headRoom := cfg.HitCapacityMultiplier
	if scarce {
		headRoom = 1
	}
	hits := uint64(req.QueueLen) * uint64(max(req.ExpectedHitsPerItem, 1))
	if hits > math.MaxUint32 {
		return 0, ErrHitCapacity
	}
	hits *= uint64(headRoom)
	if hits > math.MaxUint32 {
		return 0, ErrHitCapacity
	}
	return max(uint32(hits), cfg.MinHitCapacity), nil
}

// peakBytes estimates resident bytes plus the hit buffer. The error is
// ErrPeakBytes, or an *OutOfMemoryError if a budget is given and exceeded.
func peakBytes(cfg *Config, req *Request, hits uint32) (uint64, error) {
	buffer := uint64(hits) * uint64(cfg.ScratchBytesPerHit)
	peak, carry := bits.Add64(req.ResidentDeviceBytes, buffer, 0)
	if carry != 0 {
		return 0, ErrPeakBytes
	}
	if req.MemoryBudgetBytes != 0 && peak > req.MemoryBudgetBytes {
		return 0, &OutOfMemoryError{Requested: peak, Available: req.MemoryBudgetBytes}
	}
	return peak, nil
}
