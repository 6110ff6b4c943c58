package main

import (
	"context"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/trial"
)

const (
	liveLeastRounds = 3
	liveRounds      = 15 // least rounds of the comparison of chosen and best geometries
	// Short launches are compared for more rounds.
	liveMostRounds = 400
	liveCompare    = 400 * time.Millisecond
)

// comparison is geometries that were launched by turns.
type comparison struct {
	all    []policy.Geometry
	rounds rounds // nanoseconds, one of each geometry
}

// run adds rounds for liveCompare, but at least so many.
func (c *comparison) run(ctx context.Context, r *trial.Ring, least int) error {
	var sides []func() (float64, error)
	for _, g := range c.all {
		sides = append(sides, func() (float64, error) { return launchAfresh(r, g) })
	}
	more, err := turns{least: least, most: liveMostRounds, span: liveCompare}.take(ctx, sides...)
	c.rounds = append(c.rounds, more...)
	return err
}

// times is what each geometry takes while nothing else runs: the median over the calm half of the rounds.
func (c *comparison) times() map[policy.Geometry]float64 {
	of := make(map[policy.Geometry]float64)
	for i, g := range c.all {
		of[g] = c.rounds.calm().median(i)
	}
	return of
}

// inTurn is what geometries take when they are launched by turns.
func inTurn(ctx context.Context, r *trial.Ring, all []policy.Geometry, least int) (map[policy.Geometry]float64, error) {
	c := comparison{all: all}
	if err := c.run(ctx, r, least); err != nil {
		return nil, err
	}
	return c.times(), nil
}

// launchAfresh is the nanoseconds of a launch at a geometry that did not run last. The first of several launches
// at a geometry takes longer than the others, which matters if they are short.
func launchAfresh(r *trial.Ring, g policy.Geometry) (float64, error) {
	report, err := r.Launch(g)
	if err == nil && report.Ns < liveShort {
		report, err = r.Launch(g)
	}
	return float64(report.Ns), err
}
