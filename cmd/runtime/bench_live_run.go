package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ringmaster/megakernel/tuner/live"
)

// run has the tuner explore and run, and compares.
func (w *liveWork) run(ctx context.Context, r *tuneRing, fixed live.Geometry, repeats int) error {
	if err := r.put(w.load); err != nil {
		return err
	}
	if err := r.warm(); err != nil {
		return err
	}
	if err := w.steady(ctx, r, fixed); err != nil {
		return err
	}
	for range repeats - 1 {
		t := live.New(live.Config{Space: r.space})
		for t.Next().Left > 0 {
			report, err := r.launch(t.Next().Geometry)
			if err != nil {
				return err
			}
			_ = t.Observe(report) // a refused reading is asked for again
		}
		w.chosen = append(w.chosen, t.Next().Geometry)
	}
	return w.compare(ctx, r)
}

// stretch is launches in a row at one geometry.
type stretch struct {
	geometry live.Geometry
	ns       []float64
}

// steady runs the ring as a worker would, and beside it the best and the fixed
// geometry.
func (w *liveWork) steady(ctx context.Context, r *tuneRing, fixed live.Geometry) error {
	span := hardwareRun
	if r.software {
		span = softwareRun
	}
	fixed.Depth = uint32(len(w.load.slots))
	if !r.stand.Fits(engineGeometry(fixed), fixed.Depth) {
		fixed = r.space.At(r.space.Nearest(fixed)) // beyond the loop budget of this one
	}
	t := live.New(live.Config{Space: r.space})
	var explored float64
	var steady []stretch
	var best, other []float64
	begin := time.Now()
	for i := range liveLaunches {
		if err := ctx.Err(); err != nil {
			return err
		}
		next := t.Next()
		report, err := r.launch(next.Geometry)
		if err != nil {
			return err
		}
		w.launches++
		_ = t.Observe(report) // a refused reading still took its time
		if len(steady) == 0 && next.Left > 0 {
			explored += float64(report.Ns)
			w.explored = i + 1
			w.worstStep = max(w.worstStep, float64(report.Ns))
			if t.Next().Left == 0 {
				w.chosen = append(w.chosen, t.Next().Geometry)
			}
		} else if n := len(steady); n > 0 && steady[n-1].geometry == next.Geometry {
			steady[n-1].ns = append(steady[n-1].ns, float64(report.Ns))
		} else {
			steady = append(steady, stretch{next.Geometry, []float64{float64(report.Ns)}})
		}
		if i%liveBeside == 0 {
			if best, err = launchAt(r, w.best, best); err == nil {
				other, err = launchAt(r, fixed, other)
			}
			if err != nil {
				return err
			}
		}
		if time.Since(begin) > span && len(steady) > 0 && len(steady[len(steady)-1].ns) >= 2*liveBeside {
			break
		}
	}
	w.switches, w.noise = len(steady)-1, t.Noise()
	w.total = explored
	for i, s := range steady {
		n := len(s.ns)
		if i == len(steady)-1 {
			n += liveLaunches - w.launches
		}
		w.total += float64(n) * median(s.ns)
	}
	w.clear, w.fixed = liveLaunches*median(best), liveLaunches*median(other)
	w.worstStep /= median(best)
	return nil
}

// launchAt appends the time of a launch.
func launchAt(r *tuneRing, g live.Geometry, to []float64) ([]float64, error) {
	report, err := r.launch(g)
	return append(to, float64(report.Ns)), err
}

// compare launches the chosen geometries, the sweep's best and what the tuner
// found in turn. The least of the medians is the yardstick: what looked best in a
// sweep of few launches each need not be.
func (w *liveWork) compare(ctx context.Context, r *tuneRing) error {
	all := append([]live.Geometry{w.best}, w.chosen...)
	slices.SortFunc(all, func(a, b live.Geometry) int {
		x, _ := r.space.Find(a)
		y, _ := r.space.Find(b)
		return x - y
	})
	all = slices.Compact(all)
	times := make(map[live.Geometry][]float64)
	for range liveRounds {
		for _, g := range all {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			if times[g], err = launchAt(r, g, times[g]); err != nil {
				return err
			}
		}
	}
	w.bestNs = median(times[w.best])
	for _, g := range w.chosen {
		w.chosenNs = append(w.chosenNs, median(times[g]))
		w.bestNs = min(w.bestNs, median(times[g]))
	}
	return nil
}

func shapeOf(g live.Geometry) string {
	return fmt.Sprintf("%dx%dx%dx%d", g.Width, g.Groups, g.Chunk, g.Depth)
}

// rows reports a workload.
func (w *liveWork) rows(report *benchReport) {
	mean, _ := meanOf(w.chosenNs)
	n := len(w.load.slots)
	swept := fmt.Sprintf("best %s of %d geometries swept, of %d", shapeOf(w.best), w.seen, w.space.Len())
	report.row(benchRow{
		Name: "live/chosen/" + w.load.name, Value: mean / float64(n), Unit: "ns/slot",
		Yardstick: fmt.Sprintf("%s; chosen %s after %d launches", swept, shapeOf(w.chosen[0]), w.explored), YardstickValue: w.bestNs / float64(n),
	})
	report.row(benchRow{
		Name: "live/500/" + w.load.name, Value: w.total / 1e6, Unit: "ms",
		Yardstick:      fmt.Sprintf("clairvoyant; %d launches ran, %d switches, noise %.1f %%, dearest look %.1f x", w.launches, w.switches, 100*w.noise, w.worstStep),
		YardstickValue: w.clear / 1e6,
	})
	report.row(benchRow{Name: "live/fixed/" + w.load.name, Value: w.total / 1e6, Unit: "ms", Yardstick: "the geometry fixed for all workloads", YardstickValue: w.fixed / 1e6})
}

// liveSummary reports all workloads together.
func liveSummary(report *benchReport, works []*liveWork, fixed live.Geometry) {
	var over, total, beside []float64
	var sum, clear, sumFixed float64
	for _, w := range works {
		for _, ns := range w.chosenNs {
			over = append(over, ns/w.bestNs)
		}
		total, beside = append(total, w.total/w.clear), append(beside, w.total/w.fixed)
		sum, clear, sumFixed = sum+w.total, clear+w.clear, sumFixed+w.fixed
	}
	row := func(name string, value, yard float64, unit, yardstick string) {
		report.row(benchRow{Name: name, Value: value, Unit: unit, Yardstick: yardstick, YardstickValue: yard})
	}
	mean := func(x []float64) float64 { m, _ := meanOf(x); return m }
	row("live/chosen/mean", mean(over), 1, "x", "the exhaustive best")
	row("live/chosen/worst", slices.Max(over), 1, "x", "the exhaustive best")
	row("live/500/mean", mean(total), 1, "x", "the clairvoyant")
	row("live/500/worst", slices.Max(total), 1, "x", "the clairvoyant")
	row("live/500/sum", sum/1e6, clear/1e6, "ms", "the clairvoyant, all workloads")
	single := fmt.Sprintf("the best geometry fixed for all, %dx%dx%d", fixed.Width, fixed.Groups, fixed.Chunk)
	row("live/fixed/mean", mean(beside), 1, "x", single)
	row("live/fixed/sum", sum/1e6, sumFixed/1e6, "ms", single)
}
