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
func pressureReason(cfg *Config, sig *Signals, topology Topology, walk, r *Reason) {
	if cfg.StrictBps && topology == TopologyMemoryConstrained {
		r.follows(RuleMemoryPressure, walk)
		return
	}
	r.crosses(RuleMemoryPressure, uint64(sig.MemoryPressureBps), uint64(cfg.MemoryPressureBps))
}

// pressureClass compares the queue with the invocations of one launch.
// Requeued work means that earlier launches could not keep up.
func pressureClass(cfg *Config, req *Request, lanes uint64) Pressure {
	queue := uint64(req.QueueLen)
	lanes = max(lanes, 1)
	class := uint32(PressureLight) + uint32(bit(queue >= lanes))
	if bit(req.RequeueCount > 0)|bit(queue >= lanes*uint64(cfg.SaturatedWaves)) != 0 {
		class = uint32(PressureSaturated)
	}
	if queue == 0 {
		class = uint32(PressureEmpty)
	}
	return Pressure(class)
}

// takeHits fills in the hit capacity wanted and the peak it leads to. It
// returns 1 if that does not fit 64 bits or the budget.
func (rec *Recommendation) takeHits(cfg *Config, req *Request, wanted uint64) (over uint8) {
	hits := uint32(min(wanted, math.MaxUint32))
	peak, carry := peakBytes(cfg, req, hits)
	rec.HitCapacity, rec.EstimatedPeakBytes, rec.HitCapacityReduced = hits, peak, false
	return uint8(carry) | bit(peak > req.MemoryBudgetBytes)&bit(req.MemoryBudgetBytes != 0)
}

// fitHits reduces the hit capacity to what fits, where it may. The error is
// ErrHitCapacity, ErrPeakBytes or an *OutOfMemoryError.
func fitHits(cfg *Config, req *Request, wanted uint64, over bool, rec *Recommendation) error {
	fit := cfg.FitBudget && req.MemoryBudgetBytes != 0
	if over && !fit {
		return ErrHitCapacity
	}
	hits := uint32(min(wanted, math.MaxUint32))
	peak, carry := peakBytes(cfg, req, hits)
	if carry != 0 || req.MemoryBudgetBytes != 0 && peak > req.MemoryBudgetBytes {
		if !fit {
			return overBudget(req, peak, carry)
		}
		var err error
		if hits, err = fittingHits(cfg, req, hits); err != nil {
			return err
		}
		peak, _ = peakBytes(cfg, req, hits)
	}
	rec.HitCapacity, rec.EstimatedPeakBytes = hits, peak
	rec.HitCapacityReduced = uint64(hits) < wanted
	return nil
}

// wantedHits is the requested capacity, or queue * hits per item * head room,
// at least the minimum; there is no head room where memory is scarce. A
// requested capacity is taken as it is. What is wanted saturates, and over is
// 1 if it does not fit 32 bits.
func wantedHits(cfg *Config, req *Request, scarce bool) (wanted uint64, over uint8) {
	if req.RequestedHitCapacity != 0 {
		return uint64(req.RequestedHitCapacity), 0
	}
	hits := uint64(req.QueueLen) * uint64(max(req.ExpectedHitsPerItem, 1))
	room := uint64(cfg.HitCapacityMultiplier)
	if scarce {
		room = 1
	}
	hi, lo := bits.Mul64(hits, room)
	if hi != 0 {
		lo = math.MaxUint64
	}
	// A head room of 0 does not make fit what does not without it.
	over = bit(max(hits, lo) > math.MaxUint32)
	return max(lo, uint64(cfg.MinHitCapacity)), over
}

// peakBytes estimates resident bytes plus the hit buffer, with a carry out of
// 64 bits.
func peakBytes(cfg *Config, req *Request, hits uint32) (peak, carry uint64) {
	return bits.Add64(req.ResidentDeviceBytes, uint64(hits)*uint64(cfg.ScratchBytesPerHit), 0)
}

// fittingHits is the largest capacity within the budget, which is below
// wanted. Fewer hits than a plan would ever be given by itself are no plan:
// the error then names what the smallest one needs.
func fittingHits(cfg *Config, req *Request, wanted uint32) (uint32, error) {
	least := min(wanted, cfg.MinHitCapacity)
	peak, carry := peakBytes(cfg, req, least)
	if carry != 0 || peak > req.MemoryBudgetBytes {
		return 0, overBudget(req, peak, carry)
	}
	// Scratch bytes of 0 do not get here: then least costs as much as wanted.
	room := req.MemoryBudgetBytes - req.ResidentDeviceBytes
	return uint32(room / uint64(cfg.ScratchBytesPerHit)), nil
}

func overBudget(req *Request, peak, carry uint64) error {
	if carry != 0 {
		return ErrPeakBytes
	}
	return &OutOfMemoryError{Requested: peak, Available: req.MemoryBudgetBytes}
}

// budget says by how many hits the plan was reduced.
func (r *Reason) budget(wanted uint64, hits uint32) {
	r.Rule, r.Value, r.Threshold = RuleBudget, wanted, uint64(hits)
	r.Distance = wanted - r.Threshold
}
