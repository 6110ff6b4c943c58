package hotset

import "ringmaster/megakernel/kernel"

// Opcodes is how many opcodes there are; a set has a bit for each.
const Opcodes = 64

// Config has the thresholds. Shares are in basis points, 1/10,000.
type Config struct {
	ShareBps uint32 // a set is worth a kernel from this share of executions on
	LeaveBps uint32 // and is given up below this one
	StaleBps uint32 // a member below this share may be dropped
	MaxHot   int    // members of a set; a kernel runs every body it has on every slot of a vector
	MinDwell uint32 // launches between two changes, and before the first

	DecayShift uint32           // a launch's counts lose 1/2^DecayShift with each later launch
	Fusable    kernel.OpcodeSet // the opcodes that a fused kernel may have
}

// DefaultConfig fuses what makes up 95 % of executions. The window numbers are
// those of vyre 0.6, the half-life of counts is 11 launches.
func DefaultConfig() Config {
	return Config{
		ShareBps: 9500, LeaveBps: 9000, StaleBps: 50, MaxHot: 8, MinDwell: 16,
		DecayShift: 4, Fusable: 1<<Opcodes - 1,
	}
}

// full is a share of everything, in basis points.
const full = 10_000
