package course

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"

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
var spinSource string

// mostMixes is as many lines as the file of an opcode has room for.
const mostMixes = 1024

// mixLine is what a turn of spin does to its word.
const mixLine = "    x = x * 1664525u + 1013904223u; x = x ^ (x >> 13u);\n"

// catalog is the built-in opcodes and spin, each turn of which mixes its word so many times.
func catalog(mixes int) (all *kernel.Catalog, spin uint32, err error) {
	op, err := userop.Parse("spin.glsl", []byte(strings.Replace(spinSource, mixLine, strings.Repeat(mixLine, mixes), 1)))
	if err != nil {
		return nil, 0, fmt.Errorf("course: %w", err)
	}
	all, err = kernel.NewCatalog([]userop.Opcode{op})
	return all, op.ID, err
}

// runs are n slots of a kind, the same ones for the same seed. Neighbours of one opcode are a run, as a program
// has them in arrays.
func (k Kind) runs(n int, spin uint32, seed uint64) (runs []telemetry.Run) {
	random := rand.New(rand.NewPCG(seed, uint64(k)))
	var addresses, values []uint32 // of the run that grows
	turns := uint32(0)             // of its slots; 0: additions
	end := func() {
		switch {
		case len(addresses) == 0:
		case turns == 0:
			runs = append(runs, runOf(kernel.OpAdd, telemetry.Arg{Value: 1}, telemetry.Words(addresses)))
		default:
			runs = append(runs, runOf(kernel.Opcode(spin), telemetry.Words(values), telemetry.Arg{Value: turns}, telemetry.Words(addresses)))
		}
		addresses, values = addresses[:0], values[:0]
	}
	for range n {
		address, loops := random.Uint32N(addressedWords), uint32(0)
		switch {
		case k == Heavy:
			loops = heavyTurns
		case k == Skewed && random.IntN(skewedOneIn) == 0:
			loops = skewedTurns
		}
		if loops != turns {
			end()
			turns = loops
		}
		addresses = append(addresses, address)
		if loops > 0 {
			values = append(values, random.Uint32())
		}
	}
	end()
	return runs
}

// runOf is as many slots as its last argument has words.
func runOf(opcode kernel.Opcode, args ...telemetry.Arg) telemetry.Run {
	run := telemetry.Run{Opcode: uint32(opcode), Priority: ring.PriorityNormal, NArgs: len(args)}
	copy(run.Args[:], args)
	run.Count = uint32(len(args[len(args)-1].Words) / ring.WordBytes)
	return run
}

// firstOf are the first n slots of runs, whose words it shares.
func firstOf(runs []telemetry.Run, n int) (first []telemetry.Run) {
	for _, run := range runs {
		if n == 0 {
			break
		}
		run.Count = min(run.Count, uint32(n))
		for i := range run.Args[:run.NArgs] {
			if words := run.Args[i].Words; words != nil {
				run.Args[i].Words = words[:run.Count*ring.WordBytes]
			}
		}
		n -= int(run.Count)
		first = append(first, run)
	}
	return first
}
