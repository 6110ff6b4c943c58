package hotset

import (
	"math"
	"math/bits"
)

// Set has a bit for each opcode.
type Set uint64

// Has says whether an opcode is a member.
func (s Set) Has(opcode int) bool { return s>>opcode&1 == 1 }

// Len is the number of members.
func (s Set) Len() int { return bits.OnesCount64(uint64(s)) }

// Window is the slots of one launch that have tenant, ticket and opcode in common.
type Window struct {
	Tenant    uint32
	Ticket    uint32
	Opcode    uint32
	Required  uint32 // slots that somebody waits for
	Lookahead uint32 // slots sent ahead of need
}

// Observation is what a launch executed.
type Observation struct {
	Counts  [Opcodes]uint32 // slots executed, by opcode
	Windows []Window        // each of them once; the order does not matter
}

// State is what Decide remembers between launches. The zero value is the
// interpreter, with nothing observed.
type State struct {
	Set     Set             // wanted by the decision before; 0 is the interpreter
	Dwell   uint32          // launches since the last change, saturates
	Routed  bool            // hot windows were enough, hysteresis included
	weights [Opcodes]uint64 // executions, times weightOne, decayed
	windows [Opcodes]uint64 // hot windows, times weightOne, averaged
}

// weightOne is 1 in the fixed-point numbers of a State. Decay stops losing below
// 2^DecayShift, which is then less than a slot. A count is below 2^32, its
// decayed sum below 2^(32+16), so sums of all opcodes stay below 2^63.
const weightOne = 1 << 8

// Rule names what a decision followed from.
type Rule uint8

// Rules.
const (
	RuleNothing Rule = iota // the launch executed nothing, or none did yet
	RuleBelow               // no set of MaxHot opcodes has the share: the interpreter
	RuleShare               // the set has the share
	RuleWindows             // there are enough hot windows
	RuleStale               // members without a share were dropped
	RuleHeld                // the set before is good enough, inside the band
	RuleDwell               // a change is due, and has to wait for MinDwell
)

var ruleNames = [...]string{"nothing", "below", "share", "windows", "stale", "held", "dwell"}

func (r Rule) String() string {
	if int(r) < len(ruleNames) {
		return ruleNames[r]
	}
	return "unknown"
}

// Decision is the wanted set and why.
type Decision struct {
	Set          Set    // 0 is the interpreter
	Changed      bool   // it is another one than before
	Rule         Rule   // what it followed from
	Held         bool   // hysteresis or dwell kept it; without them it would be another one
	CoverBps     uint32 // share of the set in what was executed
	ThresholdBps uint32 // the share at which the decision flips: enter if Set is 0, else leave
	HotWindows   uint32 // hot windows of this launch
	WindowsMean  uint32 // hot windows on average, in 1/256
	WindowsFlip  uint32 // the average, in 1/256, at which windows flip
	Dwell        uint32 // launches since the last change, this one included
}

// Decide takes in a launch and gives the wanted hot set.
func Decide(cfg Config, s State, o *Observation) (Decision, State) {
	hot, any := s.observe(&cfg, o)
	d := Decision{HotWindows: hot}
	mean := s.meanWindows()
	flip := uint64(cfg.Windows) * weightOne
	if s.Routed {
		flip = uint64(cfg.WindowsLeave) * weightOne
	}
	if any {
		s.Routed = mean >= flip
		s.Dwell = min(s.Dwell, math.MaxUint32-1) + 1
	}
	total := s.total(^Set(0))
	switch {
	case total == 0:
		d.Rule = RuleNothing
	case !any:
		d.Rule = RuleNothing
	default:
		s.choose(&cfg, total, &d)
	}
	d.Set = s.Set
	d.CoverBps = s.cover(s.Set, total)
	d.ThresholdBps = cfg.ShareBps
	if s.Set != 0 {
		d.ThresholdBps = cfg.LeaveBps
	}
	d.WindowsMean, d.WindowsFlip = saturate64(mean), saturate64(flip)
	d.Dwell = s.Dwell
	if d.Changed {
		s.Dwell = 0
	}
	return d, s
}

// choose puts the wanted set into the state.
func (s *State) choose(cfg *Config, total uint64, d *Decision) {
	wanted, rule := s.wanted(cfg, total)
	switch {
	case wanted == s.Set:
		d.Rule = rule
	case s.good(cfg, wanted, total):
		d.Rule, d.Held = RuleHeld, true
	case s.Dwell < cfg.MinDwell:
		d.Rule, d.Held = RuleDwell, true
	default:
		s.Set, d.Changed, d.Rule = wanted, true, rule
	}
}

// wanted is the best set for what was observed, were it free to change.
func (s *State) wanted(cfg *Config, total uint64) (Set, Rule) {
	if rest := s.dropStale(cfg, total); rest != s.Set && !s.misses(cfg, rest) {
		return rest, RuleStale
	}
	set, rule := Set(0), RuleShare
	if s.Routed {
		set, rule = s.busiest(cfg), RuleWindows
	}
	for s.cover(set, total) < cfg.ShareBps && set.Len() < cfg.MaxHot {
		next := s.heaviest(Set(cfg.Fusable) &^ set)
		if next < 0 {
			break
		}
		set |= 1 << next
	}
	if rule == RuleShare && s.cover(set, total) < cfg.ShareBps {
		return 0, RuleBelow
	}
	return set, rule
}

// good says whether the present set may stay although another one is wanted.
func (s *State) good(cfg *Config, wanted Set, total uint64) bool {
	if s.Set == 0 || s.misses(cfg, s.Set) || wanted == s.dropStale(cfg, total) {
		return false
	}
	cover := s.cover(s.Set, total)
	if cover >= cfg.LeaveBps {
		return true
	}
	// Windows keep a set of any share, unless another is clearly better.
	return s.Routed && s.cover(wanted, total) <= cover+(cfg.ShareBps-cfg.LeaveBps)
}

// misses says whether a hot window's opcode is not in a set that could have it.
func (s *State) misses(cfg *Config, set Set) bool {
	if s.windowed(cfg, weightOne)&^set == 0 {
		return false
	}
	// A set full of opcodes with windows is as good as any other.
	return set.Len() < cfg.MaxHot || set&^s.windowed(cfg, weightOne/2) != 0
}

// dropStale is the present set without members that no longer run, if the others
// have the share.
func (s *State) dropStale(cfg *Config, total uint64) Set {
	keep := s.windowed(cfg, weightOne/2) // half of what makes a window's opcode wanted
	rest := s.Set
	for m := s.Set &^ keep; m != 0; m &= m - 1 {
		if one := m & -m; s.cover(one, total) < cfg.StaleBps {
			rest &^= one
		}
	}
	if rest == 0 || s.cover(rest, total) < cfg.ShareBps {
		return s.Set
	}
	return rest
}

// windowed are the opcodes with at least so many hot windows on average, times
// weightOne; none while windows are too few to count.
func (s *State) windowed(cfg *Config, least uint64) Set {
	var set Set
	if s.Routed {
		for opcode, mean := range s.windows {
			if mean >= least {
				set |= 1 << opcode
			}
		}
	}
	return set & Set(cfg.Fusable)
}

// busiest are the opcodes that hot windows want, at most MaxHot: those with most.
func (s *State) busiest(cfg *Config) Set {
	all := s.windowed(cfg, weightOne)
	if all.Len() <= cfg.MaxHot {
		return all
	}
	var set Set
	for range cfg.MaxHot {
		best := -1
		for opcode, mean := range s.windows {
			if (all &^ set).Has(opcode) && (best < 0 || mean > s.windows[best]) {
				best = opcode
			}
		}
		set |= 1 << best
	}
	return set
}
