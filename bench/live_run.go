package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/live"
	"ringmaster/megakernel/tuner/trial"
)

// explore lets the tuner explore from nothing a few times.
func (w *liveWork) explore(ctx context.Context, r *trial.Ring, times int) error {
	if err := r.Put(w.load); err != nil {
		return err
	}
	if err := r.Warm(); err != nil {
		return err
	}
	own, err := w.ownStart(r)
	if err != nil {
		return err
	}
	for range times {
		t := live.New(live.Config{Space: r.Space, Own: own})
		for e := (exploration{}); !e.over(t, r.Software); {
			if err := ctx.Err(); err != nil {
				return err
			}
			report, err := r.Launch(t.Next().Geometry)
			if err != nil {
				return err
			}
			e.add(&report)
			report.CountsNs = report.Ns // the queue is saturated
			_ = t.Observe(report)       // after a refused reading the tuner asks again
		}
		w.chosen = append(w.chosen, t.Choice())
	}
	return w.again(ctx, r)
}

// run lets the tuner run the workload from nothing, and compares.
func (w *liveWork) run(ctx context.Context, r *trial.Ring, fixed policy.Geometry) error {
	if err := r.Put(w.load); err != nil {
		return err
	}
	if err := r.Warm(); err != nil {
		return err
	}
	w.single = w.fit(r, fixed)
	if err := w.steady(ctx, r); err != nil {
		return err
	}
	all := append(append([]policy.Geometry{w.best}, w.chosen...), w.single, w.last)
	w.finals.all = different(all)
	return w.finals.run(ctx, r, liveRounds)
}

// judge compares once more, some time after run, the chosen geometries, the sweep's best and the
// fixed one. The least time is the yardstick: what looked best in a sweep of few launches each need
// not be the best.
func (w *liveWork) judge(ctx context.Context, r *trial.Ring) error {
	if err := r.Put(w.load); err != nil {
		return err
	}
	if err := r.Warm(); err != nil {
		return err
	}
	if err := w.finals.run(ctx, r, liveRounds); err != nil {
		return err
	}
	times := w.finals.times()
	w.bestNs = slices.Min(slices.Collect(maps.Values(times)))
	for _, g := range w.chosen {
		w.chosenNs = append(w.chosenNs, times[g])
	}
	now := times[w.best]
	total, fixed := w.course.over(times[w.last]/now, times[w.single]/now)
	w.clear = liveLaunches * median(w.course.best)
	w.total, w.fixed = total*w.clear, fixed*w.clear
	return nil
}

// exploration follows the tuner of a saturated queue until nothing is worth a look. Looks are paid from
// the time that the queue uses, so that takes some hundred launches; where they are long it is cut short.
type exploration struct {
	launches int
	span     time.Duration // on the device
}

const (
	explorationRuns         = 3000
	explorationSpan         = 10 * time.Second
	softwareExplorationSpan = 2 * time.Second
)

func (e *exploration) add(r *live.Report) {
	e.launches++
	e.span += time.Duration(r.Ns)
}

func (e *exploration) over(t *live.Tuner, software bool) bool {
	span := explorationSpan
	if software {
		span = softwareExplorationSpan
	}
	return t.Over() || e.launches >= explorationRuns || e.span >= span
}

// ownStart is the policy's own geometry, at which the tuner begins.
func (w *liveWork) ownStart(r *trial.Ring) (policy.Geometry, error) {
	standard := policy.Standard()
	return w.untuned(&standard, r)
}

// steady runs the ring as a worker would, and beside it the best and the fixed
// geometry. last is the choice at the end.
func (w *liveWork) steady(ctx context.Context, r *trial.Ring) error {
	span := hardwareRun
	if r.Software {
		span = softwareRun
	}
	own, err := w.ownStart(r)
	if err != nil {
		return err
	}
	t := live.New(live.Config{Space: r.Space, Own: own})
	c := &w.course
	best, _ := w.space.Find(w.best)
	c.swept = make(map[policy.Geometry]float64)
	for config, ns := range w.times {
		c.swept[w.space.At(config)] = ns / w.times[best]
	}
	begin := time.Now()
	for i := range liveLaunches {
		if err := ctx.Err(); err != nil {
			return err
		}
		next := t.Next()
		report, err := r.Launch(next.Geometry)
		if err != nil {
			return err
		}
		c.add(next, float64(report.Ns))
		report.CountsNs = report.Ns // the queue is saturated
		_ = t.Observe(report)       // a refused reading still took its time
		if i%liveBeside == 0 {
			best, err := launchAfresh(r, w.best)
			if err != nil {
				return err
			}
			fixed, err := launchAfresh(r, w.single)
			if err != nil {
				return err
			}
			c.best, c.fixed = append(c.best, best), append(c.fixed, fixed)
		}
		if time.Since(begin) > span && c.lasts() >= liveBeside {
			break
		}
	}
	w.launches, w.explored, w.switches, w.noise = len(c.launches), c.looks(), c.switches(), t.Noise()
	w.worstStep, w.last = c.dearest(), t.Choice()
	return nil
}

// rows reports a workload.
func (w *liveWork) rows(to *report) {
	mean, _ := trial.Mean(w.chosenNs)
	worst := slices.Max(w.chosenNs) / w.bestNs
	n := len(w.load.Slots)
	swept := fmt.Sprintf("best %s of %d geometries swept, of %d", w.best, w.seen, w.space.Len())
	to.row(row{
		Name: "live/chosen/" + w.load.Name, Value: mean / float64(n), Unit: "ns/slot",
		Yardstick: fmt.Sprintf("%s; chosen %s, worst %.3f", swept, w.chosen[0], worst), YardstickValue: w.bestNs / float64(n),
	})
	to.row(row{
		Name: "live/500/" + w.load.Name, Value: w.total / 1e6, Unit: "ms",
		Yardstick:      fmt.Sprintf("clairvoyant; %d launches ran, %d to explore, %d changes of choice, noise %.1f %%, dearest look %.1f x", w.launches, w.explored, w.switches, 100*w.noise, w.worstStep),
		YardstickValue: w.clear / 1e6,
	})
	to.row(row{Name: "live/fixed/" + w.load.Name, Value: w.total / 1e6, Unit: "ms", Yardstick: "the geometry fixed for all workloads", YardstickValue: w.fixed / 1e6})
}

// liveSummary reports all workloads together.
func liveSummary(to *report, works []*liveWork, fixed policy.Geometry) {
	var over, total, beside []float64
	var sum, clear, sumFixed float64
	for _, w := range works {
		for _, ns := range w.chosenNs {
			over = append(over, ns/w.bestNs)
		}
		total, beside = append(total, w.total/w.clear), append(beside, w.total/w.fixed)
		sum, clear, sumFixed = sum+w.total, clear+w.clear, sumFixed+w.fixed
	}
	print := func(name string, value, yard float64, unit, yardstick string) {
		to.row(row{Name: name, Value: value, Unit: unit, Yardstick: yardstick, YardstickValue: yard})
	}
	mean := func(x []float64) float64 { m, _ := trial.Mean(x); return m }
	print("live/chosen/mean", mean(over), 1, "x", "the exhaustive best")
	print("live/chosen/worst", slices.Max(over), 1, "x", "the exhaustive best")
	print("live/500/mean", mean(total), 1, "x", "the clairvoyant")
	print("live/500/worst", slices.Max(total), 1, "x", "the clairvoyant")
	print("live/500/sum", sum/1e6, clear/1e6, "ms", "the clairvoyant, all workloads")
	single := fmt.Sprintf("the best geometry fixed for all, %dx%dx%d", fixed.Width, fixed.Groups, fixed.Chunk)
	print("live/fixed/mean", mean(beside), 1, "x", single)
	print("live/fixed/sum", sum/1e6, sumFixed/1e6, "ms", single)
}
