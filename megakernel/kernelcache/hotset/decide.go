package hotset

import (
	"math"

	"ringmaster/megakernel/kernel"
)

// Opcodes is how many opcodes there are; a set has a bit for each.
const Opcodes = 64

// What a set has to be. Shares are in basis points, 1/10,000; those of a set, its size and the
// launches between two changes are those of vyre 0.6.
const (
	shareBps = 9_500 // of executions, from which on a set is worth a kernel
	leaveBps = 9_000 // below which it is given up
	staleBps = 50    // below which a member may be dropped
	maxHot   = 8     // members; a kernel runs every body it has on every slot of a vector
	minDwell = 16    // launches between two changes, and before the first

	decayShift = 4 // a launch's counts lose 1/2^decayShift with each later launch: half of them after 11

	full = 10_000 // basis points of everything
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
// 2^decayShift, which is then less than a slot. A count is below 2^32, its weight below
// 2^(32+8), its decayed sum below 2^(32+8+4): the sum of all opcodes stays below 2^50, and
// times full within 64 bits.
const weightOne = 1 << 8

// Decide takes in what a launch executed, and gives the state after it with the wanted set, of
// the opcodes that a fused kernel may have.
func Decide(fusable kernel.OpcodeSet, s State, counts *Counts) State {
	if !s.observe(counts) {
		return s
	}
	s.Dwell = min(s.Dwell, math.MaxUint32-1) + 1
	total := s.total(^kernel.OpcodeSet(0))
	if wanted := s.wanted(fusable, total); wanted != s.Set && s.Dwell >= minDwell && !s.good(wanted, total) {
		s.Set, s.Dwell = wanted, 0
	}
	return s
}

// wanted is the best set for what was observed, were it free to change.
func (s *State) wanted(fusable kernel.OpcodeSet, total uint64) kernel.OpcodeSet {
	if rest := s.dropStale(total); rest != s.Set {
		return rest
	}
	var set kernel.OpcodeSet
	for s.cover(set, total) < shareBps && set.Len() < maxHot {
		next := s.heaviest(fusable &^ set)
		if next < 0 {
			break
		}
		set |= 1 << next
	}
	if s.cover(set, total) < shareBps {
		return 0
	}
	return set
}

// good says whether the present set may stay although another one is wanted.
func (s *State) good(wanted kernel.OpcodeSet, total uint64) bool {
	return s.Set != 0 && wanted != s.dropStale(total) && s.cover(s.Set, total) >= leaveBps
}

// dropStale is the present set without members that no longer run, if the others
// have the share.
func (s *State) dropStale(total uint64) kernel.OpcodeSet {
	rest := s.Set
	for m := s.Set; m != 0; m &= m - 1 {
		if one := m & -m; s.cover(one, total) < staleBps {
			rest &^= one
		}
	}
	if rest == 0 || s.cover(rest, total) < shareBps {
		return s.Set
	}
	return rest
}

// observe takes a launch into the weights, and says whether it executed anything.
func (s *State) observe(counts *Counts) bool {
	if *counts == (Counts{}) {
		return false
	}
	for opcode, n := range counts {
		w := &s.weights[opcode]
		*w += uint64(n)*weightOne - *w>>decayShift
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
	return uint32(s.total(set) * full / total)
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
