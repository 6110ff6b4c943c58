package workload

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// ErrImpossible says that a description has no slots, or none that could run.
var ErrImpossible = errors.New("impossible")

// Bounds of a description.
const (
	MaxSlots    = 1 << 22
	MaxWindow   = 1 << 26 // words
	MaxOperands = 12      // argument words of a slot
)

// Workload is the slots of a launch, and the window they work on.
type Workload struct {
	Name   string // unique, for flags and rows
	About  string // what it is, in a few words
	Slots  int    // 1 to MaxSlots
	Window int    // words, 1 to MaxWindow
	Parts  []Part // with shares that sum to at least 1
	Sorted bool   // the slots of a part stand together, in the order of the parts; else in random order
}

// Part is the slots of one opcode.
type Part struct {
	Opcode   string
	Share    int // of the sum of all parts' shares
	Operands []Operand
}

// Operand is a range of values, From to To-1. Slot i of the workload gets From plus
// i times Step, wrapped to the range, or with a Step of 0 a random value. An empty
// range stands for From alone.
type Operand struct{ From, To, Step uint32 }

// word is an operand that is the same for all slots.
func word(v uint32) Operand { return Operand{From: v} }

// Check reports why a description is impossible.
func (w *Workload) Check() error {
	switch {
	case w.Slots < 1 || w.Slots > MaxSlots:
		return fmt.Errorf("%w: %s has %d slots, want 1 to %d", ErrImpossible, w.Name, w.Slots, MaxSlots)
	case w.Window < 1 || w.Window > MaxWindow:
		return fmt.Errorf("%w: %s has a window of %d words, want 1 to %d", ErrImpossible, w.Name, w.Window, MaxWindow)
	}
	sum := 0
	for _, p := range w.Parts {
		if p.Opcode == "" || p.Share < 0 || p.Share > MaxSlots || len(p.Operands) > MaxOperands {
			return fmt.Errorf("%w: %s has a part %+v", ErrImpossible, w.Name, p)
		}
		sum += p.Share
	}
	if sum < 1 {
		return fmt.Errorf("%w: %s has no parts", ErrImpossible, w.Name)
	}
	return nil
}

// counts are the numbers of slots of the parts: their shares, rounded so that the sum
// is the number of slots of the workload.
func (w *Workload) counts() []int {
	sum := 0
	for _, p := range w.Parts {
		sum += p.Share
	}
	counts := make([]int, len(w.Parts))
	before, until := 0, 0
	for i, p := range w.Parts {
		until += p.Share
		end := int((int64(until)*int64(w.Slots) + int64(sum)/2) / int64(sum))
		counts[i], before = end-before, end
	}
	return counts
}

// Each calls each for every slot, in order, with its part and its argument words. It
// must not be called on a workload that Check refuses.
func (w *Workload) Each(each func(i int, part *Part, args [MaxOperands]uint32)) {
	random := rand.New(rand.NewPCG(1, uint64(w.Slots)))
	order := make([]uint16, 0, w.Slots)
	for part, n := range w.counts() {
		for range n {
			order = append(order, uint16(part))
		}
	}
	if !w.Sorted {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	for i, part := range order {
		p := &w.Parts[part]
		var args [MaxOperands]uint32
		for k, o := range p.Operands {
			args[k] = o.value(uint32(i), random)
		}
		each(i, p, args)
	}
}

func (o Operand) value(i uint32, random *rand.Rand) uint32 {
	switch {
	case o.To <= o.From:
		return o.From
	case o.Step == 0:
		return o.From + random.Uint32N(o.To-o.From)
	}
	return o.From + uint32(uint64(i)*uint64(o.Step)%uint64(o.To-o.From))
}

// Words is the window before the first launch.
func (w *Workload) Words() []uint32 {
	words := make([]uint32, w.Window)
	for i := range words {
		words[i] = uint32(i)*2654435761 + 12345
	}
	return words
}
