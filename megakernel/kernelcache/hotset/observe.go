package hotset

import "math"

// observe takes a launch into the averages. It gives the number of hot windows
// and whether the launch executed anything.
func (s *State) observe(cfg *Config, o *Observation) (hot uint32, any bool) {
	for _, n := range o.Counts {
		any = any || n > 0
	}
	var windows [Opcodes]uint64
	for i := range o.Windows {
		w := &o.Windows[i]
		if uint64(w.Required)+uint64(w.Lookahead) >= uint64(cfg.WindowSlots) && w.Opcode < Opcodes {
			windows[w.Opcode]++
			hot++
		}
	}
	if !any {
		return hot, false
	}
	for opcode, n := range o.Counts {
		w := &s.weights[opcode]
		*w += uint64(n)*weightOne - *w>>cfg.DecayShift
		// The average moves towards the launch's value by the same part.
		mean, now := &s.windows[opcode], windows[opcode]*weightOne
		if now >= *mean {
			*mean += up(now-*mean, cfg.DecayShift)
		} else {
			*mean -= up(*mean-now, cfg.DecayShift)
		}
	}
	return hot, true
}

// up is v / 2^shift, rounded up, so that an average reaches a steady value.
func up(v uint64, shift uint32) uint64 { return (v + 1<<shift - 1) >> shift }

// total is the weight of a set.
func (s *State) total(set Set) uint64 {
	var sum uint64
	for opcode, w := range s.weights {
		if set.Has(opcode) {
			sum += w
		}
	}
	return sum
}

// cover is a set's share of the total, in basis points.
func (s *State) cover(set Set, total uint64) uint32 {
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

// meanWindows is the number of hot windows on average, times weightOne.
func (s *State) meanWindows() uint64 {
	var sum uint64
	for _, mean := range s.windows {
		sum += mean
	}
	return sum
}

// heaviest is the opcode of a set that ran most, the lowest of equals; -1 if none ran.
func (s *State) heaviest(set Set) int {
	best := -1
	for opcode, w := range s.weights {
		if set.Has(opcode) && w > 0 && (best < 0 || w > s.weights[best]) {
			best = opcode
		}
	}
	return best
}

func saturate64(v uint64) uint32 { return uint32(min(v, math.MaxUint32)) }
