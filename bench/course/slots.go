package course

import (
	_ "embed"
	"fmt"
	"math/rand/v2"

	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/userop"
	"ringmaster/ring"
	"ringmaster/telemetry"
)

// Kind is what the slots of a batch do.
type Kind uint8

// Kinds of slots.
const (
	Light  Kind = iota // additions, one word each
	Heavy              // loops of heavyTurns turns
	Skewed             // additions, except that one of skewedOneIn loops skewedTurns turns
)

// Turns of the loops, in which software renderers and GPUs spend nearly all of their time.
const (
	heavyTurns  = 4096
	skewedTurns = 8192
	skewedOneIn = 32
)

func (k Kind) String() string {
	return [...]string{Light: "light", Heavy: "heavy", Skewed: "skewed"}[k]
}

// addressedWords is how much of a queue's window slots address.
const addressedWords = 1 << 14

//go:embed spin.glsl
var spinSource []byte

// catalog is the built-in opcodes and spin.
func catalog() (all *kernel.Catalog, spin uint32, err error) {
	op, err := userop.Parse("spin.glsl", spinSource)
	if err != nil {
		return nil, 0, fmt.Errorf("course: %w", err)
	}
	all, err = kernel.NewCatalog([]userop.Opcode{op})
	return all, op.ID, err
}

// slots are n slots of a kind, the same ones for the same seed.
func (k Kind) slots(n int, spin uint32, seed uint64) []telemetry.Slot {
	random := rand.New(rand.NewPCG(seed, uint64(k)))
	slots := make([]telemetry.Slot, n)
	for i := range slots {
		address, turns := random.Uint32N(addressedWords), uint32(0)
		switch {
		case k == Heavy:
			turns = heavyTurns
		case k == Skewed && random.IntN(skewedOneIn) == 0:
			turns = skewedTurns
		}
		s := telemetry.Slot{Opcode: uint32(kernel.OpAdd), Priority: ring.PriorityNormal, Args: [12]uint32{1, address}, NArgs: 2}
		if turns > 0 {
			s.Opcode, s.Args, s.NArgs = spin, [12]uint32{random.Uint32(), turns, address}, 3
		}
		slots[i] = s
	}
	return slots
}
