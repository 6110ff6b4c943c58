package main

import (
	"context"
	"math"
	"slices"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/live"
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

// liveCourse is what a tuner's launches took, and what those of the yardsticks beside them took.
type liveCourse struct {
	launches    []courseLaunch
	best, fixed []float64 // nanoseconds, for every liveBeside launches

	swept map[policy.Geometry]float64 // times in the sweep, over the best
}

// disturbedLook is how many times as long as in the sweep a look may take. If it takes longer
// something else ran: a launch of 0.1 ms that is preempted takes some milliseconds.
const disturbedLook = 2

type courseLaunch struct {
	geometry policy.Geometry
	looks    bool // it looks at something else than the choice
	ns       float64
}

// add takes a launch while a geometry was the choice. If an exploration launches the choice
// itself, to check it or to compare others with it, that is no look at something else.
func (c *liveCourse) add(s live.Suggestion, choice policy.Geometry, ns float64) {
	looks := (s.Why == live.Exploring || s.Why == live.Reexploring) && s.Geometry != choice
	c.launches = append(c.launches, courseLaunch{s.Geometry, looks, ns})
}

// levelReach is how many launches of the best before and after one are used to tell how fast
// the machine was then.
const levelReach = 2

// level is what the best geometry took around a launch of the yardsticks. A machine that has
// something else to do for a while is slower for all of them.
func (c *liveCourse) level(at int) float64 {
	at = min(at, len(c.best)-1)
	return median(slices.Clone(c.best[max(at-levelReach, 0):min(at+levelReach+1, len(c.best))]))
}

// over is what liveLaunches launches take by the tuner, and by the fixed geometry, over what
// they take by the best; each launch is compared with those of the best around it. A geometry
// that is kept counts by the median of its launches, because the tuner did not choose what
// disturbs one of them. Launches that look at something else count as they are, up to
// disturbedLook. Launches that did not run count as the last choice, which takes rest times as
// long as the best, and as the fixed geometry, which takes restFixed times as long.
func (c *liveCourse) over(rest, restFixed float64) (tuner, fixed float64) {
	kept := make(map[policy.Geometry][]float64)
	sum := 0.0
	for i, l := range c.launches {
		if r := l.ns / c.level(i/liveBeside); l.looks {
			if usual := c.swept[l.geometry]; usual > 0 {
				r = min(r, disturbedLook*usual)
			}
			sum += r
		} else {
			kept[l.geometry] = append(kept[l.geometry], r)
		}
	}
	for _, r := range kept {
		sum += float64(len(r)) * median(r)
	}
	left := float64(liveLaunches - len(c.launches))
	var beside []float64
	for i, ns := range c.fixed {
		beside = append(beside, ns/c.level(i))
	}
	return (sum + left*rest) / liveLaunches, (float64(len(c.launches))*median(beside) + left*restFixed) / liveLaunches
}

// last is the number of the last launch of the choice.
func (c *liveCourse) last() int {
	for i := len(c.launches) - 1; i > 0; i-- {
		if !c.launches[i].looks {
			return i
		}
	}
	return 0
}

// lasts counts the launches at the current choice.
func (c *liveCourse) lasts() (n int) {
	now := c.launches[c.last()]
	for _, l := range c.launches {
		if !l.looks && l.geometry == now.geometry {
			n++
		}
	}
	return n
}

// switches counts the changes of the choice.
func (c *liveCourse) switches() (n int) {
	var now policy.Geometry
	for _, l := range c.launches {
		if !l.looks {
			if now != (policy.Geometry{}) && now != l.geometry {
				n++
			}
			now = l.geometry
		}
	}
	return n
}

// dearest is the time of the longest look over that of the best.
func (c *liveCourse) dearest() float64 {
	most := math.Inf(-1)
	for i, l := range c.launches {
		if l.looks {
			most = max(most, l.ns/c.level(i/liveBeside))
		}
	}
	return most
}
