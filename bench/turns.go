package main

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"ringmaster/megakernel/tuner/trial"
)

// turns says for how many rounds sides take turns: at least least, and then until most are over or span has
// passed. Every comparison of this program is made by turns, because clocks rise and fall and other
// processes come and go: all sides see the same states of the machine.
type turns struct {
	least, most int
	span        time.Duration
}

// exactly is a fixed number of rounds.
func exactly(n int) turns { return turns{least: n, most: n} }

// rounds are measurements, one of each side for each round.
type rounds [][]float64

// take has the sides measure, one after the other in each round.
func (t turns) take(ctx context.Context, sides ...func() (float64, error)) (rounds, error) {
	var all rounds
	for begin := time.Now(); len(all) < t.least || len(all) < t.most && time.Since(begin) < t.span; {
		round := make([]float64, len(sides))
		for i, side := range sides {
			if err := ctx.Err(); err != nil {
				return all, err
			}
			var err error
			if round[i], err = side(); err != nil {
				return all, err
			}
		}
		all = append(all, round)
	}
	return all, nil
}

// of are the measurements of one side.
func (r rounds) of(side int) []float64 {
	values := make([]float64, len(r))
	for i, round := range r {
		values[i] = round[side]
	}
	return values
}

func (r rounds) median(side int) float64 { return trial.Median(r.of(side)) }
func (r rounds) least(side int) float64  { return slices.Min(r.of(side)) }
func (r rounds) most(side int) float64   { return slices.Max(r.of(side)) }

// calm is the half of the rounds, whose measurements are times, that took the shorter time. What disturbs a
// machine makes launches longer; on two cores that are shared with others a launch of several workgroups
// often takes nearly twice as long for a tenth of a second. If that is so for about half of the rounds, medians
// over all of them say nothing.
func (r rounds) calm() rounds {
	calm := slices.Clone(r)
	slices.SortFunc(calm, func(a, b []float64) int { return cmp.Compare(logs(a), logs(b)) })
	return calm[:(len(calm)+1)/2]
}

// logs is the sum of logarithms, in which every side counts by how much longer it took than usual and not
// by how long it takes.
func logs(values []float64) (sum float64) {
	for _, v := range values {
		sum += math.Log(v)
	}
	return sum
}

// alternate times two functions by turns and returns the median nanoseconds of one iteration of each.
func alternate(iterations int, a, b func(n int)) (aNs, bNs float64) {
	side := func(fn func(n int)) func() (float64, error) {
		fn(iterations) // warms up
		return func() (float64, error) {
			start := time.Now()
			fn(iterations)
			return float64(time.Since(start).Nanoseconds()) / float64(iterations), nil
		}
	}
	const alternations = 20
	r, _ := exactly(alternations).take(context.Background(), side(a), side(b)) // neither fails
	return r.median(0), r.median(1)
}
