package hotset

import (
	"math"

	"ringmaster/megakernel/kernel"
)

// Counts are the slots that a launch executed, by opcode.
type Counts [Opcodes]uint32

// State is what Decide remembers between launches. The zero value is the
// interpreter, with nothing observed.
type State struct {
	Set     kernel.OpcodeSet // wanted; 0 is the interpreter
	Dwell   uint32           // launches since the last change, saturates
	weights [Opcodes]uint64  // executions, times weightOne, decayed
}

// weightOne is 1 in the fixed-point numbers of a State. Decay stops losing below
// 2^DecayShift, which is then less than a slot. A count is below 2^32, its
// decayed sum below 2^(32+16), so sums of all opcodes stay below 2^63.
const weightOne = 1 << 8

// Decide takes in what a launch executed, and gives the state after it with the wanted set.
func Decide(cfg Config, s State, counts *Counts) State {
	if !s.observe(&cfg, counts) {
		return s
	}
	s.Dwell = min(s.Dwell, math.MaxUint32-1) + 1
	total := s.total(^kernel.OpcodeSet(0))
	if wanted := s.wanted(&cfg, total); wanted != s.Set && s.Dwell >= cfg.MinDwell && !s.good(&cfg, wanted, total) {
		s.Set, s.Dwell = wanted, 0
	}
	return s
}

// wanted is the best set for what was observed, were it free to change.
func (s *State) wanted(cfg *Config, total uint64) kernel.OpcodeSet {
	if rest := s.dropStale(cfg, total); rest != s.Set {
		return rest
	}
	var set kernel.OpcodeSet
	for s.cover(set, total) < cfg.ShareBps && set.Len() < cfg.MaxHot {
		next := s.heaviest(cfg.Fusable &^ set)
		if next < 0 {
			break
		}
		set |= 1 << next
	}
	if s.cover(set, total) < cfg.ShareBps {
		return 0
	}
	return set
}

// good says whether the present set may stay although another one is wanted.
func (s *State) good(cfg *Config, wanted kernel.OpcodeSet, total uint64) bool {
	return s.Set != 0 && wanted != s.dropStale(cfg, total) && s.cover(s.Set, total) >= cfg.LeaveBps
}

// dropStale is the present set without members that no longer run, if the others
// have the share.
func (s *State) dropStale(cfg *Config, total uint64) kernel.OpcodeSet {
	rest := s.Set
	for m := s.Set; m != 0; m &= m - 1 {
		if one := m & -m; s.cover(one, total) < cfg.StaleBps {
			rest &^= one
		}
	}
	if rest == 0 || s.cover(rest, total) < cfg.ShareBps {
		return s.Set
	}
	return rest
}

// observe takes a launch into the weights, and says whether it executed anything.
func (s *State) observe(cfg *Config, counts *Counts) bool {
	if *counts == (Counts{}) {
		return false
	}
	for opcode, n := range counts {
		w := &s.weights[opcode]
		*w += uint64(n)*weightOne - *w>>cfg.DecayShift
	}
	return true
}

// total is the weight of a set.
func (s *State) total(set kernel.OpcodeSet) uint64 {
	var sum uint64
	for opcode, w := range s.weights {
		if set.Has(kernel.Opcode(opcode)) {
			sum += w
		}
	}
	return sum
}

// cover is a set's share of the total, in basis points.
func (s *State) cover(set kernel.OpcodeSet, total uint64) uint32 {
	if total == 0 {
		return 0
	}
	// total/full has lost at most one part in 2^30 where the product would overflow.
	if part := s.total(set); part <= math.MaxUint64/full {
		return uint32(part * full / total)
	} else {
		return uint32(min(part/(total/full), full))
	}
}

// heaviest is the opcode of a set that ran most, the lowest of equals; -1 if none ran.
func (s *State) heaviest(set kernel.OpcodeSet) int {
	best := -1
	for opcode, w := range s.weights {
		if set.Has(kernel.Opcode(opcode)) && w > 0 && (best < 0 || w > s.weights[best]) {
			best = opcode
		}
	}
	return best
}
