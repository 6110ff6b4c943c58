package policy

import (
	"math"
	"math/bits"
)

// pressure compares the queue with the invocations of one launch. Requeued
// work means that earlier launches could not keep up.
func pressure(cfg *Config, req *Request, rec *Recommendation) Pressure {
	queue := uint64(req.QueueLen)
	lanes := max(uint64(rec.DispatchGrid[0])*uint64(rec.WorkgroupSizeX), 1)
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

// memoryScarce says whether hits must do without head room.
func memoryScarce(cfg *Config, walk *Classification) bool {
	if cfg.StrictBps {
		return walk.Topology == TopologyMemoryConstrained
	}
	return walk.Topology != TopologyNone && walk.MemoryPressureBps >= cfg.MemoryPressureBps
}

// hasHits says whether a launch writes hits: those of a graph always may, others if the
// queue says so.
func hasHits(req *Request, walk *Classification) bool {
	return walk.Topology != TopologyNone || req.RequestedHitCapacity|req.ExpectedHitsPerItem != 0
}

// memory sizes what a launch needs beside what is resident: room for its hits. A plan without
// hits needs none, so it fits any budget.
func memory(cfg *Config, req *Request, walk *Classification, scarce bool, rec *Recommendation) error {
	if hasHits(req, walk) {
		return hits(cfg, req, scarce, rec)
	}
	rec.EstimatedPeakBytes = req.ResidentDeviceBytes
	if req.MemoryBudgetBytes != 0 && req.ResidentDeviceBytes >= req.MemoryBudgetBytes {
		rec.addReason().crosses(RuleNoMemoryNeeded, req.ResidentDeviceBytes, req.MemoryBudgetBytes)
	}
	return nil
}

// memoryReason says how far the hit capacity is from losing its head room, or
// from having it back.
func memoryReason(cfg *Config, walk *Classification, r *Reason) {
	if cfg.StrictBps && walk.Topology == TopologyMemoryConstrained {
		r.follows(RuleMemoryPressure, &walk.Reason)
		return
	}
	r.crosses(RuleMemoryPressure, uint64(walk.MemoryPressureBps), uint64(cfg.MemoryPressureBps))
}

// hits sizes the hit buffer and estimates the peak that it leads to. With
// FitBudget the capacity is reduced to what the budget allows. The error is
// ErrHitCapacity, ErrPeakBytes or an *OutOfMemoryError.
func hits(cfg *Config, req *Request, scarce bool, rec *Recommendation) error {
	wanted, over := wantedHits(cfg, req, scarce)
	fit := cfg.FitBudget && req.MemoryBudgetBytes != 0
	if over && !fit {
		return ErrHitCapacity
	}
	capacity := uint32(min(wanted, math.MaxUint32))
	peak, fits := peakBytes(cfg, req, capacity)
	if !fits && !fit {
		return overBudget(cfg, req, capacity)
	}
	if !fits {
		var err error
		if capacity, err = fittingHits(cfg, req, capacity); err != nil {
			return err
		}
		peak, _ = peakBytes(cfg, req, capacity)
	}
	rec.HitCapacity, rec.EstimatedPeakBytes = capacity, peak
	if uint64(capacity) < wanted {
		rec.HitCapacityReduced = true
		r := rec.addReason()
		r.Rule, r.Value, r.Threshold, r.Distance = RuleBudget, wanted, uint64(capacity), wanted-uint64(capacity)
	}
	return nil
}

// wantedHits is the requested capacity, or queue * hits per item * head room,
// at least the minimum; there is no head room where memory is scarce. A
// requested capacity is taken as it is. What is wanted saturates, and over
// says that it does not fit 32 bits.
func wantedHits(cfg *Config, req *Request, scarce bool) (wanted uint64, over bool) {
	if req.RequestedHitCapacity != 0 {
		return uint64(req.RequestedHitCapacity), false
	}
	bare := uint64(req.QueueLen) * uint64(max(req.ExpectedHitsPerItem, 1))
	room := uint64(cfg.HitCapacityMultiplier)
	if scarce {
		room = 1
	}
	hi, wanted := bits.Mul64(bare, room)
	if hi != 0 {
		wanted = math.MaxUint64
	}
	// A head room of 0 does not make fit what does not without it.
	over = max(bare, wanted) > math.MaxUint32
	return max(wanted, uint64(cfg.MinHitCapacity)), over
}

// peakBytes estimates resident bytes plus the hit buffer, and says whether
// that fits 64 bits and the budget, if there is one.
func peakBytes(cfg *Config, req *Request, hits uint32) (peak uint64, fits bool) {
	peak, carry := bits.Add64(req.ResidentDeviceBytes, uint64(hits)*uint64(cfg.ScratchBytesPerHit), 0)
	return peak, carry == 0 && (req.MemoryBudgetBytes == 0 || peak <= req.MemoryBudgetBytes)
}

// fittingHits is the largest capacity within the budget, which is below
// wanted. Fewer hits than a plan would ever be given by itself are no plan:
// the error then names what the smallest one needs.
func fittingHits(cfg *Config, req *Request, wanted uint32) (uint32, error) {
	least := min(wanted, cfg.MinHitCapacity)
	if _, fits := peakBytes(cfg, req, least); !fits {
		return 0, overBudget(cfg, req, least)
	}
	// Scratch bytes of 0 do not get here: then least costs as much as wanted.
	room := req.MemoryBudgetBytes - req.ResidentDeviceBytes
	return uint32(room / uint64(cfg.ScratchBytesPerHit)), nil
}

// overBudget is the error of a plan with so many hits, which does not fit.
func overBudget(cfg *Config, req *Request, hits uint32) error {
	peak, carry := bits.Add64(req.ResidentDeviceBytes, uint64(hits)*uint64(cfg.ScratchBytesPerHit), 0)
	if carry != 0 {
		return ErrPeakBytes
	}
	return &OutOfMemoryError{Requested: peak, Available: req.MemoryBudgetBytes}
}

// inFlight is how many launches of a queue of some length may be under way at a time: one for
// each depth of slots in its backlog, begun ones included, up to MaxInFlight. A
// queue that one launch empties gains nothing from a second one: it would find
// nothing to run. A queue that several launches share keeps the device busy while the
// host takes over the results of the launch before. Each launch in flight holds its
// pages, hits and results until then, so where memory is scarce there is one. Beside other
// queues there are at most turnsAhead, because they wait for all of them, and so are there
// where more would exceed a turn of so many slots.
func inFlight(cfg *Config, req *Request, length, depth, turn uint32, scarce bool) uint32 {
	if !cfg.Pipelined || scarce {
		return 1
	}
	launches := (max(length, 1)-1)/depth + 1
	launches = min(launches, cfg.Sizing.MaxInFlight)
	if cfg.takesTurns(req) && (req.OtherQueues != 0 || uint64(launches)*uint64(depth) > uint64(turn)) {
		launches = min(launches, turnsAhead)
	}
	return launches
}

// age says whether waiting work has to be aged: it came back, or waits long.
func age(cfg *Config, req *Request) bool {
	return req.RequeueCount > 0 || req.MaxPriorityAge >= cfg.PriorityAgeThreshold
}
