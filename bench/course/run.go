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

	Loads    []Load
	Deciders []Contestant
	Rates    []float64 // of the capacity
	Rounds   int
	Span     time.Duration // in which work arrives in a cell
	Measure  time.Duration // of a capacity
	Train    time.Duration // of what the tuner begins from
	Sweep    time.Duration // of one geometry
	Sweeps   int           // geometries of a sweep
	Seed     uint64

	Fit       uint32          // workgroups of 256 that the device runs at a time, about which sweeps try geometries
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
	demand := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	demand(len(c.Loads) > 0 && len(c.Deciders) > 0, "no loads or no deciders")
	demand(c.Rounds >= 1, "%d rounds, want at least 1", c.Rounds)
	demand(c.Span >= 100*time.Millisecond && c.Span <= 10*time.Minute, "cells of %v, want 100ms to 10m", c.Span)
	demand(c.Measure > 0 && c.Train > 0 && c.Sweep > 0, "times to measure %v, train %v and sweep %v, want more than 0", c.Measure, c.Train, c.Sweep)
	demand(c.Sweeps >= 1, "%d geometries of a sweep, want at least 1", c.Sweeps)
	demand(c.Fit >= 1, "no workgroup fits the device")
	for _, r := range c.Rates {
		demand(r > 0 && r <= 10, "rate %v, want more than 0 and at most 10 times the capacity", r)
	}
	demand(len(c.Rates) > 0, "no rates")
	for _, l := range c.Loads {
		demand(!l.Trace || len(c.Trace) >= 2 && c.Trace[len(c.Trace)-1].At > 0, "a trace of %d requests, want at least 2 at different moments", len(c.Trace))
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
	trained    map[string]bool    // by load
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
		trained: make(map[string]bool), known: make(map[key]bool), began: time.Now()}
	for i := range cfg.Known {
		r.note(&cfg.Known[i])
	}
	for i := range cfg.Loads {
		if err := r.prepare(ctx, &cfg.Loads[i]); err != nil {
			return fmt.Errorf("%s: %w", cfg.Loads[i].Name, err)
		}
	}
	for i := range cfg.Loads {
		for _, rate := range cfg.rates(&cfg.Loads[i]) {
			if err := r.rounds(ctx, &cfg.Loads[i], rate); err != nil {
				return err
			}
		}
	}
	if r.failed > 0 {
		return fmt.Errorf("%d cells failed", r.failed)
	}
	return nil
}

// rates are those at which a load runs: one of 0 if none changes anything.
func (c *Config) rates(l *Load) []float64 {
	if !l.rated() {
		return []float64{0}
	}
	return c.Rates
}

// note takes over what was measured.
func (r *runner) note(rec *Record) {
	switch {
	case rec.Capacity != nil:
		r.capacities[rec.Capacity.Load] = rec.Capacity.SlotsPerSecond
	case rec.Sweep != nil:
		r.sweeps[rec.Sweep.Load] = *rec.Sweep
	case rec.Cell != nil:
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

// prepare measures what the cells of a load need: its capacity, what a tuner learns of it, the best geometry.
func (r *runner) prepare(ctx context.Context, l *Load) error {
	if err := r.capacity(ctx, l); err != nil {
		return fmt.Errorf("capacity: %w", err)
	}
	for _, c := range r.cfg.Deciders {
		if c.trains && !r.trained[l.Name] {
			if err := r.train(ctx, l); err != nil {
				return fmt.Errorf("train the tuner: %w", err)
			}
		}
		if _, swept := r.sweeps[l.Name]; c.sweeps && !swept {
			if err := r.sweep(ctx, l); err != nil {
				return fmt.Errorf("sweep: %w", err)
			}
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
	s.telemetry = r.cfg.Telemetry
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
		{policy: policy.Standard(), tuner: session.Off, rival: newRival(decider.Fill()), waves: true},
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
	return r.record(Record{Capacity: &Capacity{Load: load.Name, SlotsPerSecond: most, Machine: loadAverage()}})
}

// sweepRate is the rate at which tuners learn and geometries are swept: the largest below the capacity.
func (c *Config) sweepRate() float64 {
	rate := slices.Min(c.Rates)
	for _, r := range c.Rates {
		if r < 1 {
			rate = max(rate, r)
		}
	}
	return rate
}

// schedule is what arrives in a cell.
func (r *runner) schedule(l *Load, rate float64, span time.Duration, seed uint64) []Batch {
	return l.Schedule(rate*r.capacities[l.measured()], span, seed, r.cfg.Trace)
}

// train runs a load with the tuner and keeps what it learned in files.
func (r *runner) train(ctx context.Context, l *Load) error {
	dir := r.trainedDir(l)
	if _, err := os.Stat(dir); err == nil {
		r.trained[l.Name] = true // by a call before this one
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	s := setup{policy: policy.Standard(), tuner: session.On, tunerDir: dir}
	batches := r.schedule(l, r.cfg.sweepRate(), r.cfg.Train, r.cfg.Seed)
	err := r.on(ctx, s, func(rig *rig) error {
		_, err := newPlayer(rig, l, batches, r.cfg.Seed).play(ctx, batches, r.cfg.Train)
		return err
	})
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	r.trained[l.Name] = true
	return nil
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
	batches := r.schedule(l, r.cfg.sweepRate(), r.cfg.Sweep, seed)
	s := setup{policy: policy.Standard(), tuner: session.Off, rival: newRival(decider.Fixed(g)), waves: true}
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

// rounds runs all deciders by turns on a load at a rate, in another order each time.
func (r *runner) rounds(ctx context.Context, l *Load, rate float64) error {
	for round := range r.cfg.Rounds {
		seed := r.cfg.Seed + uint64(round)
		random := rand.New(rand.NewPCG(seed, uint64(rate*1000)))
		for _, i := range random.Perm(len(r.cfg.Deciders)) {
			c := &r.cfg.Deciders[i]
			if r.known[key{l.Name, rate, c.Name, round}] {
				continue
			}
			if err := r.cell(ctx, l, rate, c, round, seed); err != nil {
				return err
			}
		}
	}
	return nil
}

// cell measures one cell. One that fails is recorded as such.
func (r *runner) cell(ctx context.Context, l *Load, rate float64, c *Contestant, round int, seed uint64) error {
	if err := errors.Join(r.over(), ctx.Err()); err != nil {
		return err
	}
	batches := r.schedule(l, rate, r.cfg.Span, seed)
	cell := &Cell{Load: l.Name, Machine: loadAverage()}
	err := r.on(ctx, c.setup(r, l), func(rig *rig) error {
		played, err := newPlayer(rig, l, batches, seed).play(ctx, batches, r.cfg.Span)
		if err == nil {
			cell = played
		}
		return err
	})
	cell.Rate, cell.Decider, cell.Round, cell.Seed = rate, c.Name, round, seed
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.failed++
		cell.Error = err.Error()
	}
	return r.record(Record{Cell: cell})
}
