package course

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"ringmaster/bench/course/decider"
	"ringmaster/cmd/runtime/demo/trace"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
)

// Config says what a course measures.
type Config struct {
	Open func() (worker.Device, error) // opens the device, again for each cell

	Parts   []Part // in this order
	Rounds  int
	Measure time.Duration // of a capacity
	Train   time.Duration // of what the tuner begins from
	Sweep   time.Duration // of one geometry
	Sweeps  int           // geometries of a sweep
	Seed    uint64

	Fit       uint32          // workgroups of 256 that the device runs at a time, about which sweeps try geometries
	Mixes     int             // how often each turn of a heavy slot's loop mixes its word: what a slot weighs
	Telemetry time.Duration   // between two reports of the queues' lengths; 0: nobody reports
	Trace     []trace.Request // of the load of that name
	Dir       string          // for programs and what tuners learn; it is the caller's
	Budget    time.Duration   // no cell begins later than that; 0: none
	Log       *slog.Logger

	// Known is what was recorded before: nothing of it is measured again. Record takes what is measured.
	Known  []Record
	Record func(Record) error
}

// Validate reports what cannot be measured.
func (c *Config) Validate() error {
	var errs []error
	said := make(map[string]bool) // parts may lack the same
	demand := func(ok bool, format string, args ...any) {
		err := fmt.Errorf(format, args...)
		if !ok && !said[err.Error()] {
			said[err.Error()] = true
			errs = append(errs, err)
		}
	}
	demand(len(c.Parts) > 0, "no loads or no rates")
	demand(c.Rounds >= 1, "%d rounds, want at least 1", c.Rounds)
	demand(c.Measure > 0 && c.Train > 0 && c.Sweep > 0, "times to measure %v, train %v and sweep %v, want more than 0", c.Measure, c.Train, c.Sweep)
	demand(c.Sweeps >= 1, "%d geometries of a sweep, want at least 1", c.Sweeps)
	demand(c.Fit >= 1, "no workgroup fits the device")
	demand(c.Mixes >= 1 && c.Mixes <= mostMixes, "slots of %d mixes a turn, want 1 to %d", c.Mixes, mostMixes)
	demand(c.Budget >= 0 && c.Telemetry >= 0, "a budget of %v and reports each %v, want no less than 0", c.Budget, c.Telemetry)
	for _, p := range c.Parts {
		demand(len(p.Deciders) > 0, "no deciders of %s", p.Load.Name)
		demand(p.Span >= 100*time.Millisecond && p.Span <= 10*time.Minute, "cells of %v, want 100ms to 10m", p.Span)
		demand(!p.Load.rated() || p.Rate > 0 && p.Rate <= 10, "rate %v, want more than 0 and at most 10 times the capacity", p.Rate)
		demand(!p.Load.Trace || len(c.Trace) >= 2 && c.Trace[len(c.Trace)-1].At > 0, "a trace of %d requests, want at least 2 at different moments", len(c.Trace))
	}
	for _, rec := range c.Known {
		demand(rec.Capacity == nil || rec.Capacity.Mixes == c.Mixes, "the records are of slots of other weight than %d mixes a turn; take another file", c.Mixes)
	}
	return errors.Join(errs...)
}

// ErrBudget says that a course is not complete because its time was spent.
var ErrBudget = errors.New("the budget of time is spent; the same command goes on where this one ended")

// runner is a course under way.
type runner struct {
	cfg        *Config
	capacities map[string]float64 // slots per second, by load
	sweeps     map[string]Sweep   // by load
	known      map[key]bool       // cells
	failed     int
	copies     int
	began      time.Time
}

// Run measures what is not known yet. The error wraps ErrBudget if time ran out.
func Run(ctx context.Context, cfg *Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	r := &runner{cfg: cfg, capacities: make(map[string]float64), sweeps: make(map[string]Sweep),
		known: make(map[key]bool), began: time.Now()}
	for i := range cfg.Known {
		r.note(&cfg.Known[i])
	}
	for i := range cfg.Parts {
		part := &cfg.Parts[i]
		need := part.needs(r.known, cfg.Rounds)
		if need.cells == 0 {
			continue
		}
		if err := r.prepare(ctx, &part.Load, need); err != nil {
			return fmt.Errorf("%s: %w", part.Load.Name, err)
		}
		if err := r.rounds(ctx, part); err != nil {
			return err
		}
	}
	if r.failed > 0 {
		return fmt.Errorf("%d cells failed", r.failed)
	}
	return nil
}

// note takes over what was measured.
func (r *runner) note(rec *Record) {
	switch {
	case rec.Capacity != nil:
		r.capacities[rec.Capacity.Load] = rec.Capacity.SlotsPerSecond
	case rec.Sweep != nil:
		r.sweeps[rec.Sweep.Load] = *rec.Sweep
	case rec.Cell != nil && rec.Cell.Error == "": // one that failed is measured again
		r.known[keyOf(rec.Cell)] = true
	}
}

func (r *runner) record(rec Record) error {
	r.note(&rec)
	if r.cfg.Record == nil {
		return nil
	}
	return r.cfg.Record(rec)
}

// prepare measures what the cells of a part need: the load's capacity, what a tuner learns of it, the best
// geometry for it or, for the decider that knows them all, for every load of the course.
func (r *runner) prepare(ctx context.Context, l *Load, need need) error {
	if err := r.capacity(ctx, l); err != nil {
		return fmt.Errorf("capacity: %w", err)
	}
	if need.train && !r.cfg.trained(l) {
		if err := r.train(ctx, l); err != nil {
			return fmt.Errorf("train the tuner: %w", err)
		}
	}
	for i := range r.cfg.Parts {
		other := &r.cfg.Parts[i].Load
		if _, swept := r.sweeps[other.Name]; swept || !need.everySweep && !(need.sweep && other.Name == l.Name) {
			continue
		}
		if err := errors.Join(r.capacity(ctx, other), r.sweep(ctx, other)); err != nil {
			return fmt.Errorf("sweep of %s: %w", other.Name, err)
		}
	}
	return nil
}

// over reports whether the budget is spent.
func (r *runner) over() error {
	if r.cfg.Budget > 0 && time.Since(r.began) > r.cfg.Budget {
		return ErrBudget
	}
	return nil
}

// on runs something on a rig of its own.
func (r *runner) on(ctx context.Context, s setup, do func(*rig) error) error {
	if err := errors.Join(r.over(), ctx.Err()); err != nil {
		return err
	}
	s.telemetry, s.mixes = r.cfg.Telemetry, r.cfg.Mixes
	rig, err := startRig(ctx, r.cfg.Open, r.cfg.Dir, s, r.cfg.Log)
	if err != nil {
		return err
	}
	return errors.Join(do(rig), rig.close())
}

// capacity is how many slots of a load a second the loop does, by the better of two simple deciders.
func (r *runner) capacity(ctx context.Context, l *Load) error {
	like, err := Find([]string{l.measured()})
	if err != nil {
		return err
	}
	load := &like[0]
	if _, known := r.capacities[load.Name]; known || !load.rated() {
		return nil
	}
	batches := load.Schedule(1e6, 10*time.Second, r.cfg.Seed, r.cfg.Trace)
	most := 0.0
	for _, s := range []setup{
		{policy: policy.Standard(), tuner: session.Off},
		{policy: policy.Standard(), tuner: session.Off, rival: newRuled(decider.Fill()), waves: true},
	} {
		err := r.on(ctx, s, func(rig *rig) error {
			rate, err := newPlayer(rig, load, batches, r.cfg.Seed).capacity(ctx, batches, r.cfg.Measure)
			most = max(most, rate)
			return err
		})
		if err != nil {
			return err
		}
	}
	if !(most > 0) {
		return errors.New("nothing was done")
	}
	return r.record(Record{Capacity: &Capacity{Load: load.Name, SlotsPerSecond: most, Mixes: r.cfg.Mixes, Machine: loadAverage()}})
}

// schedule is what arrives in a cell.
func (r *runner) schedule(l *Load, rate float64, span time.Duration, seed uint64) []Batch {
	return l.Schedule(rate*r.capacities[l.measured()], span, seed, r.cfg.Trace)
}

// train runs a load with the tuner and keeps what it learned in files. They get their name when they are
// complete: a call that is killed leaves nothing that the next one would take for them.
func (r *runner) train(ctx context.Context, l *Load) error {
	dir, err := os.MkdirTemp(r.cfg.Dir, "training-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := setup{policy: policy.Standard(), tuner: session.On, tunerDir: dir}
	batches := r.schedule(l, r.cfg.learnRate(l.Name), r.cfg.Train, r.cfg.Seed)
	err = r.on(ctx, s, func(rig *rig) error {
		_, err := newPlayer(rig, l, batches, r.cfg.Seed).play(ctx, batches, r.cfg.Train)
		return err
	})
	if err != nil {
		return err
	}
	return os.Rename(dir, r.cfg.trainedDir(l))
}

// sweep finds the best geometry for a load by successive halving (Jamieson and Talwalkar, AISTATS 2016): all
// run for a while, then the better half again with other arrivals, until one is left.
func (r *runner) sweep(ctx context.Context, l *Load) error {
	s := Sweep{Load: l.Name, Machine: loadAverage()}
	for _, g := range candidates(r.cfg.Fit, r.cfg.Sweeps) {
		s.Tried = append(s.Tried, Tried{Geometry: g})
	}
	left := make([]int, len(s.Tried))
	for i := range left {
		left[i] = i
	}
	sums := make([]float64, len(s.Tried))
	for round := uint64(0); ; round++ {
		for _, i := range left {
			p99, err := r.try(ctx, l, s.Tried[i].Geometry, r.cfg.Seed+100+round)
			if err != nil {
				return fmt.Errorf("%v: %w", s.Tried[i].Geometry, err)
			}
			if round == 0 {
				s.Tried[i].P99 = p99
			}
			sums[i] += math.Log(p99)
		}
		slices.SortStableFunc(left, func(a, b int) int {
			if sums[a] < sums[b] {
				return -1
			}
			return 1
		})
		if left = left[:(len(left)+1)/2]; len(left) == 1 {
			s.Best = s.Tried[left[0]].Geometry
			return r.record(Record{Sweep: &s})
		}
	}
}

// try is the 99th percentile of a load at a geometry.
func (r *runner) try(ctx context.Context, l *Load, g policy.Geometry, seed uint64) (p99 float64, err error) {
	batches := r.schedule(l, r.cfg.learnRate(l.Name), r.cfg.Sweep, seed)
	s := setup{policy: policy.Standard(), tuner: session.Off, rival: newRuled(decider.Fixed(g)), waves: true}
	err = r.on(ctx, s, func(rig *rig) error {
		c, err := newPlayer(rig, l, batches, seed).play(ctx, batches, r.cfg.Sweep)
		if err == nil {
			p99 = c.p99()
		}
		return err
	})
	return p99, err
}

// fixed is the geometry with the least mean logarithm of the 99th percentile over all loads that were swept.
func (r *runner) fixed() policy.Geometry {
	sums := make(map[policy.Geometry]float64)
	for _, s := range r.sweeps {
		for _, t := range s.Tried {
			sums[t.Geometry] += math.Log(t.P99)
		}
	}
	var best policy.Geometry
	least := math.Inf(1)
	for _, g := range candidates(r.cfg.Fit, r.cfg.Sweeps) {
		if sum, tried := sums[g]; tried && sum < least {
			best, least = g, sum
		}
	}
	return best
}

// rounds runs the deciders of a part by turns, in another order each time.
func (r *runner) rounds(ctx context.Context, p *Part) error {
	for round := range r.cfg.Rounds {
		seed := r.cfg.Seed + uint64(round)
		random := rand.New(rand.NewPCG(seed, uint64(p.Rate*1000)))
		for _, i := range random.Perm(len(p.Deciders)) {
			c := &p.Deciders[i]
			if r.known[key{p.Load.Name, p.Rate, c.Name, round}] {
				continue
			}
			if err := r.cell(ctx, p, c, round, seed); err != nil {
				return err
			}
		}
	}
	return nil
}

// cell measures one cell. One that fails is recorded as such.
func (r *runner) cell(ctx context.Context, p *Part, c *Contestant, round int, seed uint64) error {
	if err := errors.Join(r.over(), ctx.Err()); err != nil {
		return err
	}
	l := &p.Load
	batches := r.schedule(l, p.Rate, p.Span, seed)
	cell := &Cell{Load: l.Name, Machine: loadAverage()}
	s := c.setup(r, l)
	if s.tunerDir != "" {
		defer os.RemoveAll(s.tunerDir) // a copy; see warmed
	}
	err := r.on(ctx, s, func(rig *rig) error {
		played, err := newPlayer(rig, l, batches, seed).play(ctx, batches, p.Span)
		if err == nil {
			cell = played
		}
		return err
	})
	cell.Rate, cell.Decider, cell.Round, cell.Seed = p.Rate, c.Name, round, seed
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.failed++
		cell.Error = err.Error()
	}
	return r.record(Record{Cell: cell})
}
