package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"ringmaster/glcompute"
	"ringmaster/megakernel/tuner/live"
	"ringmaster/megakernel/tuner/workload"
)

// liveFlags choose what the benchmark of the live tuner measures.
type liveFlags struct {
	LiveWorkload []string `placeholder:"NAME" help:"Bundled workloads of the live tuner's benchmark; all without."`
	LiveRepeats  int      `default:"3" help:"Explorations of the live tuner for each workload."`
}

// check refuses what cannot be measured.
func (f *liveFlags) check() error {
	for _, name := range f.LiveWorkload {
		if _, found := workload.Find(name); !found {
			return fmt.Errorf("bench: --live-workload %s: there is no bundled workload of that name; tune --list names them", name)
		}
	}
	if f.LiveRepeats < 1 {
		return fmt.Errorf("bench: --live-repeats %d: at least 1 is needed", f.LiveRepeats)
	}
	return nil
}

const (
	liveLaunches = 500 // of a running ring, exploration included
	// Every so many launches the yardsticks have one too, so that all see the
	// same machine.
	liveBeside = 5
	liveRounds = 15 // of the comparison of chosen and best geometries
	// Seconds a workload may take on a software renderer: to look at its space,
	// and to run. What is left of the launches then counts as the median of the
	// last ones.
	softwareSweep = 5 * time.Second
	softwareRun   = 4 * time.Second
	hardwareSweep = 25 * time.Second
	hardwareRun   = 20 * time.Second
)

// benchLive lets the live tuner run the bundled workloads on this machine's ring,
// beside the best geometry of a sweep and the best that is fixed for all of them.
func benchLive(ctx context.Context, device *glcompute.Device, flags *liveFlags, report *benchReport) error {
	works, err := liveWorks(flags)
	if err != nil {
		return err
	}
	slots, window := 0, 0
	for _, w := range works {
		slots, window = max(slots, len(w.load.slots)), max(window, len(w.load.window))
	}
	r, err := newTuneRing(device, nil, slots, window)
	if err != nil {
		return err
	}
	defer r.stand.Close()
	for _, w := range works {
		if err := w.sweep(ctx, r); err != nil {
			return fmt.Errorf("bench: %s: %w", w.load.name, err)
		}
	}
	fixed := bestFixed(works)
	for _, w := range works {
		if err := w.run(ctx, r, fixed, flags.LiveRepeats); err != nil {
			return fmt.Errorf("bench: %s: %w", w.load.name, err)
		}
		w.rows(report)
	}
	liveSummary(report, works, fixed)
	return nil
}

// liveWork is a workload of the benchmark and what was measured of it.
type liveWork struct {
	load  *tuneLoad
	space *live.Space
	times map[int]float64 // median of the sweep, by geometry
	seen  int             // geometries the sweep looked at
	best  live.Geometry   // of the sweep

	chosen    []live.Geometry // after each exploration
	chosenNs  []float64       // in the comparison
	bestNs    float64         // likewise
	explored  int             // launches of the longest exploration
	total     float64         // of liveLaunches, by the tuner
	clear     float64         // by the best geometry
	fixed     float64         // by the fixed geometry
	launches  int             // that really ran
	switches  int             // of geometry after the exploration
	noise     float64
	worstStep float64 // longest launch of the exploration over the best
}

func liveWorks(flags *liveFlags) ([]*liveWork, error) {
	set, err := (&opcodeFlags{}).load()
	if err != nil {
		return nil, err
	}
	var works []*liveWork
	for _, w := range workload.Bundled() {
		if len(flags.LiveWorkload) > 0 && !slices.Contains(flags.LiveWorkload, w.Name) {
			continue
		}
		load, err := newTuneLoad(&w, set)
		if err != nil {
			return nil, err
		}
		works = append(works, &liveWork{load: load})
	}
	return works, nil
}

// sweep finds the best geometry.
func (w *liveWork) sweep(ctx context.Context, r *tuneRing) error {
	if err := r.put(w.load); err != nil {
		return err
	}
	span := hardwareSweep
	if r.software {
		span = softwareSweep
	}
	run := r.newRun(0, span)
	best, _, err := run.run(ctx, sweep)
	if err != nil {
		return err
	}
	w.space, w.best, w.seen = r.space, r.space.At(best), len(run.times)
	w.times = make(map[int]float64)
	for c, times := range run.times {
		w.times[c] = median(times)
	}
	return nil
}

// bestFixed is the width, groups and chunk that are best for all workloads
// together: with the least mean logarithm of the time over the best one's. In a ring
// that is shorter than it, a geometry runs as it is, without work for some groups.
func bestFixed(works []*liveWork) live.Geometry {
	var pick live.Geometry
	least := math.Inf(1)
	tried := make(map[live.Geometry]bool)
	for _, from := range works {
		for c := range from.times {
			g := from.space.At(c)
			g.Depth = 0
			if tried[g] {
				continue
			}
			tried[g] = true
			sum := 0.0
			for _, w := range works {
				sum += math.Log(w.estimate(g))
			}
			if sum < least {
				pick, least = g, sum
			}
		}
	}
	return pick
}

// estimate is the time of a geometry at full depth from the sweep's at the nearest
// geometry that was measured, over the best one's.
func (w *liveWork) estimate(g live.Geometry) float64 {
	g.Depth = uint32(len(w.load.slots))
	at, far := -1, math.Inf(1)
	if c := w.space.Nearest(g); w.times[c] > 0 {
		at = c
	} else {
		for c := range w.times {
			if d := distance(w.space.At(c), g); d < far || d == far && c < at {
				at, far = c, d
			}
		}
	}
	best, _ := w.space.Find(w.best)
	return w.times[at] / w.times[best]
}

// distance counts the doublings between two geometries.
func distance(a, b live.Geometry) float64 {
	d := 0.0
	for _, p := range [...][2]uint32{{a.Width, b.Width}, {a.Groups, b.Groups}, {a.Chunk, b.Chunk}, {a.Depth, b.Depth}} {
		d += math.Abs(math.Log2(float64(p[0]) / float64(p[1])))
	}
	return d
}
