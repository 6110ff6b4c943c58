package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"ringmaster/bench/fixedpoint"
	"ringmaster/bench/natural"
)

// benchNatural times the integer steps of the natural gradient on the device beside
// those on the host; transfers count, but the root is on the device already.
func benchNatural(s *session) (err error) {
	engine, err := fixedpoint.New(s.device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	for _, step := range []struct {
		name  string
		sizes []int
		time  func(natural.Engine, int) (time.Duration, error)
	}{
		{"softmax", []int{1_024, 16_384, 262_144}, timeSoftmax},
		{"dense", []int{64, 256, 1024, natural.MaxDense}, timePrecondition},
		{"lowrank", []int{natural.MaxDense + 1, 65_536, 262_144}, timePrecondition},
	} {
		for _, n := range step.sizes {
			name := fmt.Sprintf("natural/%s/%d", step.name, n)
			onDevice, err := step.time(engine, n)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			host, err := step.time(natural.Host{}, n)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			s.row(row{Name: name, Value: micros(onDevice), Unit: "µs", Yardstick: "the host, one core", YardstickValue: micros(host)})
		}
	}
	return nil
}

// stepRepeats is how often a step is timed; the fastest counts.
const stepRepeats = 5

// timeSoftmax is the least time of a softmax over n candidates on an engine.
func timeSoftmax(e natural.Engine, n int) (time.Duration, error) {
	in := arbitrary(n)
	return fastest(func() error { _, err := e.Softmax(in); return err })
}

// timePrecondition is the least time of a product over n candidates on an engine.
// The root is dense up to natural.MaxDense candidates and low rank beyond.
func timePrecondition(e natural.Engine, n int) (time.Duration, error) {
	policy := arbitrary(n)
	for i := range policy {
		policy[i] &= natural.One - 1
	}
	root := rootOf(n)
	return fastest(func() error { _, err := e.Precondition(root, policy); return err })
}

func fastest(step func() error) (time.Duration, error) {
	least := time.Duration(math.MaxInt64)
	for i := range stepRepeats + 1 {
		start := time.Now()
		if err := step(); err != nil {
			return 0, err
		}
		if i > 0 { // the first sends the root
			least = min(least, time.Since(start))
		}
	}
	return least, nil
}

// arbitrary is a vector of numbers.
func arbitrary(n int) []uint32 {
	out, x := make([]uint32, n), uint32(1)
	for i := range out {
		x = x*1664525 + 1013904223
		out[i] = x >> 15
	}
	return out
}

// rootOf has the size of the root of a Fisher matrix, not its values.
func rootOf(n int) natural.Root {
	if n <= natural.MaxDense {
		return &natural.Dense{N: n, Cells: make([]int32, n*n)}
	}
	l := &natural.LowRank{Diagonal: make([]int32, n)}
	for range natural.Terms {
		l.Terms = append(l.Terms, natural.Term{Vector: make([]int32, n)})
	}
	return l
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
