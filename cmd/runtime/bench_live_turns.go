package main

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"ringmaster/megakernel/tuner/live"
)

const (
	liveLeastRounds = 3
	liveRounds      = 15 // least rounds of the comparison of chosen and best geometries
	// Short launches are compared for more rounds.
	liveMostRounds = 400
	liveCompare    = 400 * time.Millisecond
)

// turns are launches of geometries by turns, so that all of them see the same states of the
// machine.
type turns struct {
	all    []live.Geometry
	rounds [][]float64 // nanoseconds of all geometries, for each round
}

// run adds rounds for liveCompare, but at least so many.
func (t *turns) run(ctx context.Context, r *tuneRing, rounds int) error {
	begin := time.Now()
	for n := 0; n < rounds || n < liveMostRounds && time.Since(begin) < liveCompare; n++ {
		var round []float64
		for _, g := range t.all {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			if round, err = launchBeside(r, g, round); err != nil {
				return err
			}
		}
		t.rounds = append(t.rounds, round)
	}
	return nil
}

// times is what each geometry takes while nothing else runs: the median over the calmer half of
// the rounds, which are those that took the shorter time. What disturbs a machine makes launches
// longer; on two cores that are shared with others a launch of several workgroups often takes
// nearly twice as long for a tenth of a second. If that is so for about half of the rounds,
// medians over all of them say nothing.
func (t *turns) times() map[live.Geometry]float64 {
	calm := slices.Clone(t.rounds)
	slices.SortFunc(calm, func(a, b []float64) int { return cmp.Compare(logs(a), logs(b)) })
	calm = calm[:(len(calm)+1)/2]
	of := make(map[live.Geometry]float64)
	for i, g := range t.all {
		var ns []float64
		for _, round := range calm {
			ns = append(ns, round[i])
		}
		of[g] = median(ns)
	}
	return of
}

// logs is the sum of logarithms, in which every geometry counts by how much longer it took than
// usual and not by how long it takes.
func logs(values []float64) (sum float64) {
	for _, v := range values {
		sum += math.Log(v)
	}
	return sum
}

// inTurn is what geometries take when they are launched by turns.
func inTurn(ctx context.Context, r *tuneRing, all []live.Geometry, rounds int) (map[live.Geometry]float64, error) {
	t := turns{all: all}
	if err := t.run(ctx, r, rounds); err != nil {
		return nil, err
	}
	return t.times(), nil
}

// launchAt appends the time of a launch.
func launchAt(r *tuneRing, g live.Geometry, to []float64) ([]float64, error) {
	report, err := r.launch(g)
	return append(to, float64(report.Ns)), err
}

// launchBeside is launchAt for a geometry that did not run last. The first of several launches
// at a geometry takes longer than the others, which matters if they are short.
func launchBeside(r *tuneRing, g live.Geometry, to []float64) ([]float64, error) {
	report, err := r.launch(g)
	if err == nil && report.Ns < liveShort {
		return launchAt(r, g, to)
	}
	return append(to, float64(report.Ns)), err
}
