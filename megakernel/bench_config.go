package megakernel

import "fmt"

// DrainProgram names what a drain benchmark runs and beside what.
type DrainProgram uint8

// Programs of a drain benchmark.
const (
	// DrainInterpreter is nop, store, add and load in turn by the interpreter with
	// all built-in opcodes, beside a bare kernel: the four opcodes and nothing else.
	DrainInterpreter DrainProgram = iota
	// DrainFused4 is the same slots by a fused kernel of the four opcodes, beside the bare kernel.
	DrainFused4
	// DrainFused3 is store, add and load by a fused kernel of those, beside the bare kernel.
	DrainFused3
	// DrainHot is a program of 32 opcodes in which store, add and load are 97 of
	// 100 slots, by a fused kernel of those and the interpreter behind it, beside the
	// interpreter alone. The opcodes that operators would add need many registers.
	DrainHot
)

func (p DrainProgram) String() string {
	switch p {
	case DrainInterpreter:
		return "interpreter"
	case DrainFused4:
		return "fused4"
	case DrainFused3:
		return "fused3"
	case DrainHot:
		return "hot"
	}
	return fmt.Sprintf("program(%d)", uint8(p))
}

// DrainConfig is a drain benchmark.
type DrainConfig struct {
	Program    DrainProgram
	Slots      int // rounded down to whole pages
	Runs       int // timed runs of either side for each geometry
	Geometries []Geometry
	Batch      int // slots a fused kernel's invocation reads before it runs them; 0: as the engine does
	Lead       int // untimed drains right before each timed one, so that a GPU is at its full clock
	Words      int // DrainHot: words that each of the further opcodes holds in registers
}

// DrainResult is the time one geometry takes to drain a ring of resident
// slots, beside a yardstick on the same slots.
type DrainResult struct {
	Geometry        Geometry
	Slots           int
	Ns              uint64     // best run
	Median          uint64     // median run, ns
	YardstickNs     uint64     // best run of the yardstick
	YardstickMedian uint64     // its median run, ns
	TimeSource      TimeSource // clock of both
}

// Best is the rate of the best run, in slots/s, and that of the yardstick's.
func (r *DrainResult) Best() (drain, yardstick float64) {
	return float64(r.Slots) * 1e9 / float64(r.Ns), float64(r.Slots) * 1e9 / float64(r.YardstickNs)
}

// Typical is the rate of the median run, and that of the yardstick's.
func (r *DrainResult) Typical() (drain, yardstick float64) {
	return float64(r.Slots) * 1e9 / float64(r.Median), float64(r.Slots) * 1e9 / float64(r.YardstickMedian)
}

// Defaults of a drain benchmark: long enough to hide a dispatch, short enough
// for two processor cores.
const (
	DrainSlots = 1 << 20
	DrainRuns  = 5
	DrainWords = 8

	warmRuns = 2
)

// DrainGeometries is a small product of widths, groups and chunks that shows
// the slope in each direction.
func DrainGeometries() []Geometry {
	return []Geometry{
		{64, 8, 256}, {64, 8, 1024}, {256, 8, 1024}, {256, 32, 1024}, {512, 8, 4096}, {1024, 8, 4096},
	}
}
