package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"ringmaster/megakernel"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/live"
	"ringmaster/megakernel/tuner/trial"
	"ringmaster/megakernel/tuner/workload"
)

// liveFlags choose what the benchmark of the live tuner measures.
type liveFlags struct {
	LiveWorkload []string      `placeholder:"NAME" help:"Bundled workloads of the live tuner's benchmark; all without."`
	LiveSweep    time.Duration `placeholder:"DURATION" help:"Time of a workload's sweep; without, 3 s on a software renderer and 25 s otherwise."`
	LiveRepeats  int           `default:"3" help:"Explorations of the live tuner for each workload."`
}

// check refuses flags with which nothing can be measured.
func (f *liveFlags) check() error {
	for _, name := range f.LiveWorkload {
		if _, found := workload.Find(name); !found {
			return fmt.Errorf("--live-workload %s: there is no bundled workload of that name; tune --list names them", name)
		}
	}
	if f.LiveSweep < 0 {
		return fmt.Errorf("--live-sweep %v: a sweep takes more than no time", f.LiveSweep)
	}
	if f.LiveRepeats < 1 {
		return fmt.Errorf("--live-repeats %d: at least 1 is needed", f.LiveRepeats)
	}
	return nil
}

const (
	liveLaunches = 500 // of a running ring, exploration included
	// Every so many launches the yardsticks run too, so that all see the same state
	// of the machine.
	liveBeside    = 5
	liveFinalists = 12  // geometries of the sweep that are compared again
	liveFixed     = 4   // geometries that may be the best fixed one
	liveShort     = 2e6 // nanoseconds of a launch
	// Time that a workload may take on a software renderer: for the sweep of its
	// space, and to run. The launches left then count by a comparison at the end.
	softwareSweep = 3 * time.Second
	softwareRun   = 2 * time.Second
	hardwareSweep = 25 * time.Second
	hardwareRun   = 20 * time.Second
)

// benchLive lets the live tuner run the bundled workloads on this machine's ring. It
// compares it with the best geometry of a sweep, and with the best geometry that is fixed
// for all workloads.
func benchLive(s *session) error {
	works, r, err := liveStart(s)
	if err != nil {
		return err
	}
	defer r.Close()
	each := func(step func(w *liveWork) error) error {
		for _, w := range works {
			if err := step(w); err != nil {
				return fmt.Errorf("%s: %w", w.load.Name, err)
			}
		}
		return nil
	}
	if err := each(func(w *liveWork) error { return w.sweep(s.ctx, r, s.flags.LiveSweep) }); err != nil {
		return err
	}
	if err := each(func(w *liveWork) error { return w.explore(s.ctx, r, s.flags.LiveRepeats) }); err != nil {
		return err
	}
	fixed, err := bestFixed(s.ctx, r, works)
	if err != nil {
		return err
	}
	if err := each(func(w *liveWork) error { return w.run(s.ctx, r, fixed) }); err != nil {
		return err
	}
	if err := each(func(w *liveWork) error { return w.judge(s.ctx, r) }); err != nil {
		return err
	}
	if err := each(func(w *liveWork) error { return w.compareOwn(s.ctx, r) }); err != nil {
		return err
	}
	for _, w := range works {
		w.rows(s.report)
		w.own.row(s.report, w)
	}
	liveSummary(s.report, works, fixed)
	ownSummary(s.report, works)
	return nil
}

// liveStart makes the workloads that were asked for and a ring for them.
func liveStart(s *session) ([]*liveWork, *trial.Ring, error) {
	works, err := liveWorks(&s.flags.liveFlags)
	if err != nil {
		return nil, nil, err
	}
	slots, window := 0, 0
	for _, w := range works {
		slots, window = max(slots, len(w.load.Slots)), max(window, len(w.load.Window))
	}
	r, err := trial.NewRing(s.device, trial.RingConfig{Slots: slots, Window: window, Limits: megakernel.LimitsOf(s.device), Software: s.device.Info().Software})
	return works, r, err
}

// liveWork is a workload of the benchmark and what was measured with it.
type liveWork struct {
	load  *trial.Load
	space *live.Space
	times map[int]float64 // median of the sweep, by geometry
	seen  int             // geometries at which the sweep looked
	best  policy.Geometry // of the sweep

	found map[policy.Geometry]float64 // least time of the geometries that were compared again

	course       liveCourse      // of the launches of run
	last, single policy.Geometry // the choice at its end, and the fixed geometry
	finals       comparison      // all that count, by turns

	chosen    []policy.Geometry // after each exploration
	chosenNs  []float64         // time of these in the comparison
	bestNs    float64           // time of the best in the comparison
	explored  int               // launches that looked at something else
	total     float64           // time of liveLaunches, by the tuner
	clear     float64           // the same by the best geometry
	fixed     float64           // the same by the fixed geometry
	launches  int               // launches that really ran
	switches  int               // from one chosen geometry to another
	noise     float64
	own       own     // the policy's own geometries
	worstStep float64 // longest launch of the exploration over the best
}

func liveWorks(flags *liveFlags) ([]*liveWork, error) {
	var works []*liveWork
	for _, w := range workload.Bundled() {
		if len(flags.LiveWorkload) > 0 && !slices.Contains(flags.LiveWorkload, w.Name) {
			continue
		}
		load, err := trial.NewLoad(&w, kernel.BuiltIn())
		if err != nil {
			return nil, err
		}
		works = append(works, &liveWork{load: load})
	}
	return works, nil
}

// sweep finds the best geometry within a time; 0 chooses by device.
func (w *liveWork) sweep(ctx context.Context, r *trial.Ring, span time.Duration) error {
	if err := r.Put(w.load); err != nil {
		return err
	}
	if span == 0 {
		span = hardwareSweep
		if r.Software {
			span = softwareSweep
		}
	}
	run := r.NewRun(0, span)
	best, _, err := run.Measure(ctx, trial.Sweep)
	if err != nil {
		return err
	}
	w.space, w.best, w.seen = r.Space, r.Space.At(best), len(run.Times)
	w.times = make(map[int]float64)
	for c, times := range run.Times {
		w.times[c] = median(times)
	}
	w.found = make(map[policy.Geometry]float64)
	return w.again(ctx, r)
}

// again compares the best geometries of the sweep and what explorations chose for a while,
// in turn. It is done twice, at different times: the geometry that is best while the machine
// has something else to do, and fewer processors for a launch, need not be the best at other
// times. The one with the least of all times is the yardstick.
func (w *liveWork) again(ctx context.Context, r *trial.Ring) error {
	run := trial.Run{Times: make(map[int][]float64)}
	for c, ns := range w.times {
		run.Times[c] = []float64{ns}
	}
	n := liveFinalists
	if best, _ := w.space.Find(w.best); w.times[best] > liveShort {
		n = trial.Finalists
	}
	all := different(append(geometries(w.space, run.Best(n)), w.chosen...))
	times, err := inTurn(ctx, r, all, liveLeastRounds)
	if err != nil {
		return err
	}
	w.compared(times)
	return nil
}

// compared takes the outcome of a comparison, in which another geometry may have turned out
// better than the best so far.
func (w *liveWork) compared(times map[policy.Geometry]float64) {
	for _, g := range slices.SortedFunc(maps.Keys(times), byShape) {
		c, known := w.space.Find(g)
		if !known {
			continue // it was cut to the size of the ring
		}
		if ns := times[g]; w.found[g] == 0 || ns < w.found[g] {
			w.found[g] = ns
		}
		w.times[c] = w.found[g]
		if b := w.found[w.best]; b == 0 || w.found[g] < b {
			w.best = g
		}
	}
}

// different are the geometries without repetition.
func different(all []policy.Geometry) (once []policy.Geometry) {
	for _, g := range all {
		if !slices.Contains(once, g) {
			once = append(once, g)
		}
	}
	return once
}

func geometries(s *live.Space, configs []int) (all []policy.Geometry) {
	for _, c := range configs {
		all = append(all, s.At(c))
	}
	return all
}

// bestFixed is the width, groups and chunk that are best for all workloads together: with
// the least mean logarithm of the time over that of each workload's best. A geometry that is
// too large for a ring runs as it is, without work for some groups. A sweep looks at some
// geometries only once, so that the likeliest are measured again.
func bestFixed(ctx context.Context, r *trial.Ring, works []*liveWork) (policy.Geometry, error) {
	likely := likelyFixed(works, liveFixed)
	sums := make([]float64, len(likely))
	for _, w := range works {
		if err := r.Put(w.load); err != nil {
			return policy.Geometry{}, err
		}
		all := []policy.Geometry{w.best}
		for _, g := range likely {
			all = append(all, w.fit(r, g))
		}
		times, err := inTurn(ctx, r, different(all), liveLeastRounds)
		if err != nil {
			return policy.Geometry{}, fmt.Errorf("%s: %w", w.load.Name, err)
		}
		for i, g := range all[1:] {
			sums[i] += math.Log(times[g] / times[all[0]])
		}
		w.compared(times)
	}
	return likely[slices.Index(sums, slices.Min(sums))], nil
}

// fit is a fixed geometry as it runs for a workload.
func (w *liveWork) fit(r *trial.Ring, g policy.Geometry) policy.Geometry {
	g.Depth = uint32(len(w.load.Slots))
	if !r.Fits(g) {
		return w.space.At(w.space.Nearest(g)) // g is beyond the loop budget of this ring
	}
	return g
}

// likelyFixed are the geometries that are best for all workloads together by the sweeps, at
// most n.
func likelyFixed(works []*liveWork, n int) []policy.Geometry {
	sums := make(map[policy.Geometry]float64)
	for _, from := range works {
		for c := range from.times {
			g := from.space.At(c)
			g.Depth = 0
			if _, tried := sums[g]; tried {
				continue
			}
			sums[g] = 0
			for _, w := range works {
				sums[g] += math.Log(w.estimate(g))
			}
		}
	}
	all := slices.Collect(maps.Keys(sums))
	slices.SortFunc(all, func(a, b policy.Geometry) int {
		return cmp.Or(cmp.Compare(sums[a], sums[b]), byShape(a, b))
	})
	return all[:min(n, len(all))]
}

func byShape(a, b policy.Geometry) int {
	return cmp.Or(cmp.Compare(a.Width, b.Width), cmp.Compare(a.Groups, b.Groups), cmp.Compare(a.Chunk, b.Chunk), cmp.Compare(a.Depth, b.Depth))
}

// estimate is the time of a geometry at full depth over that of the best. It is the sweep's
// time of the nearest geometry that was measured.
func (w *liveWork) estimate(g policy.Geometry) float64 {
	g.Depth = uint32(len(w.load.Slots))
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
func distance(a, b policy.Geometry) float64 {
	d := 0.0
	for _, p := range [...][2]uint32{{a.Width, b.Width}, {a.Groups, b.Groups}, {a.Chunk, b.Chunk}, {a.Depth, b.Depth}} {
		d += math.Abs(math.Log2(float64(p[0]) / float64(p[1])))
	}
	return d
}
