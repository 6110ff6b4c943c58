package policy

import "math/bits"

// What keeps plans steady with Config.Steady. A load is noisy, and a change of a plan costs
// whoever carries it out, so noise changes nothing, and a change of the load is followed
// within Config.Dwell decisions:
//
//	an empty queue   leaves everything as it is: the plan, and what is remembered
//	the length       a plan is made for a length that covers what is queued, see plannedLength
//	topology, mode,  are left when Dwell decisions in a row ask for that. Where it matters
//	worker groups    at once it is done at once: memory pressure at its threshold, a compiled
//	                 kernel for a long queue, a walk from sparse to dense, any walk by edges
//
// Everything is counted in decisions, because a decision knows no clock.

// idle says whether a decision sees an empty queue that was not empty before.
func (c *Config) idle(req *Request, state *PlanState) bool {
	return c.Steady && req.QueueLen == 0 && state.Length != 0
}

// persists counts the decisions in a row that ask for a change, and says whether they are
// enough to make it. Without Steady one is.
func (c *Config) persists(asks bool, count *uint8) bool {
	switch {
	case !asks:
		*count = 0
	case c.Steady:
		*count++
		asks = *count >= c.Dwell
	}
	if asks {
		*count = 0
	}
	return asks
}

// dwell keeps the topology before until enough decisions in a row ask for another, and
// returns what the next decision has to remember of it.
func (c *Classification) dwell(cfg *Config, req *Request, prev TopologyState) (next TopologyState) {
	switch {
	case !cfg.Steady:
		return TopologyState{Topology: c.Topology}
	case c.Topology == TopologyEmpty:
		return prev
	case c.Topology == prev.Topology, !c.near(prev.Topology):
		return TopologyState{Topology: c.Topology}
	}
	next = prev
	if cfg.persists(true, &next.Asked) {
		return TopologyState{Topology: c.Topology}
	}
	c.Topology = prev.Topology
	topologyReason(cfg, req, c)
	return next
}

// near says whether two topologies are neighbours by the share of vertices, or a walk
// leaves memory pressure. Others are as different as their values.
func (c *Classification) near(prev Topology) bool {
	switch {
	case prev == TopologyMemoryConstrained:
		return c.Topology != TopologyNone
	case c.ByEdges:
		return false
	case prev == TopologyHybrid:
		return c.Topology == TopologySparse || c.Topology == TopologyDense || c.Topology == TopologyFused
	}
	return c.Topology == TopologyHybrid && (prev == TopologySparse || prev == TopologyDense || prev == TopologyFused)
}

const (
	// A length is kept while more than 1/shrinkDivisor of it is queued, and given up at
	// once when no more than 1/jumpDivisor of it is. Lengths that differ by ±20 % are all
	// covered by one that is at most 1.5 × 1.2 of their mean; the least of them are 0.8
	// of it, so half of that length is only seldom as much as they are.
	shrinkDivisor = 2
	jumpDivisor   = 8
)

// plannedLength moves the planned length on. One that what is queued exceeds grows at once,
// one that is far too long shrinks at once, and one of which Dwell decisions in a row need
// no more than half shrinks to what the most of them needs.
func plannedLength(cfg *Config, queue uint32, s *PlanState) uint32 {
	switch {
	case !cfg.Steady:
		s.Length, s.Low, s.LowMost = 0, 0, 0
		return queue
	case queue == 0:
		return s.Length
	case queue > s.Length, queue <= s.Length/jumpDivisor:
		s.Length, s.Low, s.LowMost = roundLength(queue), 0, 0
	case queue > s.Length/shrinkDivisor:
		s.Low, s.LowMost = 0, 0
	default:
		s.LowMost = max(s.LowMost, queue)
		if cfg.persists(true, &s.Low) {
			s.Length, s.LowMost = roundLength(s.LowMost), 0
		}
	}
	return s.Length
}

// roundLength is the least number of the forms 2^k and 3·2^k that is not below n, which is
// at least 1, within 32 bits.
func roundLength(n uint32) uint32 {
	top := uint64(1) << bits.Len32(n-1)
	if between := top / 4 * 3; uint64(n) <= between {
		return uint32(between)
	}
	return uint32(min(top, 1<<32-1))
}
