//go:build cgo

package course

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
	"ringmaster/glcompute/gltest"
)

// opener opens a device for each cell; a test without one ends here.
func opener(t *testing.T) func() (worker.Device, error) {
	t.Helper()
	gltest.OpenUnclosed(t).Close()
	return func() (worker.Device, error) {
		device, _, err := glcompute.Open(glcompute.Config{})
		return device, err
	}
}

// TestEveryBatchOfACourseIsAccountedFor runs the whole loop: a mix of two queues, under the policy with and
// without its tuner, under a rule that holds launches back, with all work in one queue, and at what a sweep found.
func TestEveryBatchOfACourseIsAccountedFor(t *testing.T) {
	opened := opener(t)
	loads, err := Find([]string{"urgent"})
	if err != nil {
		t.Fatal(err)
	}
	deciders, err := FindContestants([]string{"warm", "off", "batching", "fifo", "clairvoyant"})
	if err != nil {
		t.Fatal(err)
	}
	var records []Record
	cfg := Config{
		Open: opened, Parts: Grid(loads, []float64{0.5}, deciders, 200*time.Millisecond), Rounds: 1,
		Measure: 200 * time.Millisecond, Train: 100 * time.Millisecond, Sweep: 100 * time.Millisecond, Sweeps: 2,
		Seed: 3, Fit: 2, Mixes: 1, Telemetry: 10 * time.Millisecond, Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
		Record: func(r Record) error { records = append(records, r); return nil },
	}
	if err := Run(t.Context(), &cfg); err != nil {
		t.Fatal(err)
	}
	rate := 0.0
	cells := make(map[string]*Cell)
	for _, r := range records {
		switch {
		case r.Capacity != nil:
			rate = cfg.Parts[0].Rate * r.Capacity.SlotsPerSecond
		case r.Cell != nil:
			cells[r.Cell.Decider] = r.Cell
		case r.Sweep != nil && !slices.ContainsFunc(r.Sweep.Tried, func(tried Tried) bool { return tried.Geometry == r.Sweep.Best && tried.P99 > 0 }):
			t.Errorf("sweep %+v", r.Sweep)
		}
	}
	batches := loads[0].Schedule(rate, cfg.Parts[0].Span, cfg.Seed, nil)
	slots := 0
	for _, b := range batches {
		slots += b.Slots
	}
	for _, d := range deciders {
		c := cells[d.Name]
		if c == nil || c.Error != "" || c.Batches != len(batches) || c.Slots != slots || !(c.Throughput > 0) {
			t.Fatalf("%s: %+v, want %d batches of %d slots", d.Name, c, len(batches), slots)
		}
		counted := 0
		for _, k := range c.Classes {
			counted += k.Batches
			if !(k.P50 > 0) || k.P99 < k.P50 {
				t.Errorf("%s: %+v", d.Name, k)
			}
		}
		if queues := len(c.Shares); (d.Name == "fifo") != (queues == 1) {
			t.Errorf("%s: launches of %d queues: %v", d.Name, queues, c.Shares)
		}
		if counted != len(batches) || len(c.Classes) != 2 {
			t.Errorf("%s: %d of %d batches counted, %+v", d.Name, counted, len(batches), c)
		}
	}
	resumes(t, cfg, records)
}

// resumes checks that nothing is measured twice, and nothing after the budget.
func resumes(t *testing.T, cfg Config, records []Record) {
	t.Helper()
	cfg.Known = records
	cfg.Record = func(r Record) error { t.Errorf("measured again: %v", r); return nil }
	if err := Run(t.Context(), &cfg); err != nil {
		t.Error(err)
	}
	if p := cfg.Plan(); p.Known != p.Cells || p.Cells != len(cfg.Parts[0].Deciders) {
		t.Errorf("plan %+v", p)
	}
	cfg.Known, cfg.Budget = nil, time.Nanosecond
	if err := Run(t.Context(), &cfg); !errors.Is(err, ErrBudget) {
		t.Errorf("beyond the budget: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	cfg.Budget = 0
	if err := Run(canceled, &cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestImpossibleCoursesAreRefused(t *testing.T) {
	err := Run(t.Context(), &Config{Parts: []Part{{Load: Load{Trace: true}, Rate: -1}}})
	for _, want := range []string{"no deciders", "0 rounds", "cells of 0s", "rate -1", "a trace of 0 requests", "no workgroup fits"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := Run(t.Context(), &Config{}); err == nil || !strings.Contains(err.Error(), "no loads or no rates") {
		t.Error(err)
	}
}
