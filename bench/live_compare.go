package main

import (
	"context"
	"fmt"
	"maps"
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

// add takes a launch.
func (c *liveCourse) add(s live.Suggestion, ns float64) {
	c.launches = append(c.launches, courseLaunch{s.Geometry, s.Look, ns})
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

// looks counts the launches that looked at something else.
func (c *liveCourse) looks() (n int) {
	for _, l := range c.launches {
		if l.looks {
			n++
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

// benchOwn compares the geometry that the policy chooses without a tuner with the best of a
// sweep, for the workloads of the live tuner's benchmark.
func benchOwn(s *session) error {
	works, r, err := liveStart(s)
	if err != nil {
		return err
	}
	defer r.Close()
	for _, w := range works {
		if err := w.sweep(s.ctx, r, s.flags.LiveSweep); err != nil {
			return fmt.Errorf("%s: %w", w.load.Name, err)
		}
		if err := w.compareOwn(s.ctx, r); err != nil {
			return fmt.Errorf("%s: %w", w.load.Name, err)
		}
		w.own.row(s.report, w)
	}
	ownSummary(s.report, works)
	return nil
}

// A comparison of the policy's own geometries is made in passes, and the least of a geometry's
// counts: beside other load most rounds of a pass may be disturbed.
const (
	ownPasses = 10
	ownRounds = 5 // at least, of a pass
)

// own is what the policy's own geometries take beside the best of a sweep.
type own struct {
	units, limits     policy.Geometry // by the device's units, and by the limits of the API alone
	best              policy.Geometry
	unitsNs, limitsNs float64
	bestNs            float64
}

// compareOwn launches the policy's geometries and the best of the sweep by turns.
func (w *liveWork) compareOwn(ctx context.Context, r *trial.Ring) (err error) {
	byUnits, byLimits := policy.Standard(), policy.Standard()
	byLimits.SizeByUnits = false
	if w.own.units, err = w.untuned(&byUnits, r); err != nil {
		return err
	}
	if w.own.limits, err = w.untuned(&byLimits, r); err != nil {
		return err
	}
	if err := r.Put(w.load); err != nil {
		return err
	}
	likely := slices.SortedFunc(maps.Keys(w.times), func(a, b int) int {
		if w.times[a] != w.times[b] {
			return int(math.Copysign(1, w.times[a]-w.times[b]))
		}
		return a - b
	})
	best := geometries(w.space, likely[:min(liveFixed, len(likely))])
	for _, g := range []policy.Geometry{w.own.units, w.own.limits} { // a new width is not built within what is timed
		if _, err := r.Launch(g); err != nil {
			return err
		}
	}
	all := different(append([]policy.Geometry{w.own.units, w.own.limits}, best...))
	times := make(map[policy.Geometry]float64)
	for range ownPasses {
		pass, err := inTurn(ctx, r, all, ownRounds)
		if err != nil {
			return err
		}
		for g, ns := range pass {
			if times[g] == 0 || ns < times[g] {
				times[g] = ns
			}
		}
	}
	w.own.bestNs = math.Inf(1)
	for _, g := range best {
		if times[g] < w.own.bestNs {
			w.own.best, w.own.bestNs = g, times[g]
		}
	}
	w.own.unitsNs, w.own.limitsNs = times[w.own.units], times[w.own.limits]
	return nil
}

// untuned is the geometry of a launch of the workload without a tuner. If the loop budget of a
// dispatch does not allow all of the launch's slots, an engine leaves the rest to the next
// launch; so here it is cut into as few dispatches as drain it.
func (w *liveWork) untuned(cfg *policy.Config, r *trial.Ring) (policy.Geometry, error) {
	if err := r.Put(w.load); err != nil {
		return policy.Geometry{}, err
	}
	slots := uint32(len(w.load.Slots))
	plan, _, err := policy.Decide(cfg, &policy.Request{QueueLen: slots, Limits: r.Limits}, policy.State{})
	if err != nil {
		return policy.Geometry{}, err
	}
	g := plan.Geometry()
	for g.Depth = min(g.Depth, slots); !r.Fits(g); g.Depth = (g.Depth + 1) / 2 {
		if g.Depth == 1 {
			return g, fmt.Errorf("no dispatch of %dx%dx%d drains a part of it", g.Width, g.Groups, g.Chunk)
		}
	}
	return g, nil
}

func (o *own) row(to *report, w *liveWork) {
	to.row(row{
		Name: "policy/own/" + w.load.Name, Value: o.unitsNs / 1e3, Unit: "µs", YardstickValue: o.bestNs / 1e3,
		Yardstick: fmt.Sprintf("the best of %d swept, %s; own %s; by limits %s takes %.2f", w.seen, o.best, o.units, o.limits, o.limitsNs/o.bestNs),
	})
}

// ownSummary prints what the geometries without a tuner take over the best, over the workloads.
func ownSummary(to *report, works []*liveWork) {
	var units, limits []float64
	for _, w := range works {
		units, limits = append(units, w.own.unitsNs/w.own.bestNs), append(limits, w.own.limitsNs/w.own.bestNs)
	}
	for _, side := range []struct {
		name string
		over []float64
	}{{"policy/own", units}, {"policy/limits", limits}} {
		slices.Sort(side.over)
		mean, _ := trial.Mean(side.over)
		p95 := side.over[int(math.Ceil(.95*float64(len(side.over))))-1]
		for _, figure := range []struct {
			name  string
			value float64
		}{{"mean", mean}, {"p95", p95}, {"worst", side.over[len(side.over)-1]}} {
			to.row(row{Name: side.name + "/" + figure.name, Value: figure.value, Unit: "x", Yardstick: "the best of the sweep", YardstickValue: 1})
		}
	}
}
