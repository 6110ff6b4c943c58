package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/chart"
	"ringmaster/cmd/runtime/text"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/tuner/cache"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/megakernel/tuner/trial"
)

// Strategies of tune.
const (
	strategySweep  = "sweep"
	strategySearch = "search"
)

// tuneResult is what tune found out.
type tuneResult struct {
	Workload   string      `json:"workload"`
	Slots      uint32      `json:"slots"`
	Device     string      `json:"device"`
	Strategy   string      `json:"strategy"`
	Geometries int         `json:"geometries"` // of the space
	Launches   int         `json:"launches"`
	Complete   bool        `json:"complete"` // false: the budget or the user ended it before its end
	Stored     string      `json:"stored,omitempty"`
	Key        string      `json:"key,omitempty"`
	Rows       []trial.Row `json:"rows"`
}

// chosen is the row of the chosen geometry, or nil.
func (t *tuneResult) chosen() *trial.Row {
	for i := range t.Rows {
		if t.Rows[i].Chosen {
			return &t.Rows[i]
		}
	}
	return nil
}

// shownRows is how many geometries the table lists; --json prints all.
const shownRows = 20

// print writes the table, fastest first; the chosen geometry is always in it.
func (t *tuneResult) print(out io.Writer) {
	fmt.Fprintf(out, "%s, %s slots, on %s: %s, %s launches at %d of %s geometries\n", t.Workload, text.Grouped(t.Slots), t.Device, t.Strategy,
		text.Grouped(t.Launches), len(t.Rows), text.Grouped(t.Geometries))
	var rows [][]string
	for i := range t.Rows {
		r := &t.Rows[i]
		if i >= shownRows && !r.Chosen {
			continue
		}
		mark := ""
		if r.Chosen {
			mark = "<- chosen"
		}
		rows = append(rows, []string{
			fmt.Sprint(r.Width), fmt.Sprint(r.Groups), fmt.Sprint(r.Chunk), fmt.Sprint(r.Depth), fmt.Sprint(r.Launches),
			launchTime(r.MedianNs), launchTime(r.MeanNs), fmt.Sprintf("%.1f %%", 100*r.Spread), fmt.Sprintf("%.3f", r.VsBest), mark,
		})
	}
	fmt.Fprint(out, text.Table([]string{"WIDTH", "GROUPS", "CHUNK", "DEPTH", "LAUNCHES", "MEDIAN", "MEAN", "SPREAD", "VS BEST", ""}, rows))
	if left := len(t.Rows) - len(rows); left > 0 {
		fmt.Fprintf(out, "and %s slower ones (--json prints them)\n", text.Grouped(left))
	}
	if t.Stored != "" {
		fmt.Fprintf(out, "stored in %s\n", t.Stored)
	}
}

// drawnRows is how many geometries the picture shows: the fastest as the table does, and of the others some, evenly.
const drawnRows = 50

// picture draws what a launch took at the geometries, with the standard deviation, as SVG. The chosen one stands out.
func (t *tuneResult) picture() string {
	panel := chart.Panel{Title: "width × groups × claim chunk × depth"}
	rest := float64(len(t.Rows)-shownRows) / (drawnRows - shownRows)
	for i, next := 0, shownRows-1.0; i < len(t.Rows); i++ {
		r := &t.Rows[i]
		if i >= shownRows && float64(i) < next+rest && !r.Chosen && i != len(t.Rows)-1 {
			continue
		}
		if i >= shownRows {
			next = float64(i)
		}
		panel.Marks = append(panel.Marks, chart.Mark{
			Name: fmt.Sprintf("%d×%d×%d×%d", r.Width, r.Groups, r.Chunk, r.Depth),
			Low:  r.MedianNs * max(1-r.Spread, .01) / 1e3, Mid: r.MedianNs / 1e3, High: r.MedianNs * (1 + r.Spread) / 1e3, Strong: r.Chosen,
		})
	}
	drawing := chart.Panels{
		Title: fmt.Sprintf("A launch of %s (%s slots)", t.Workload, text.Grouped(t.Slots)), Unit: "µs", Panels: []chart.Panel{panel}, Columns: 1,
	}
	return chart.File(drawing.Draw())
}

// launchTime is a time with four digits.
func launchTime(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.4g ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.4g µs", ns/1e3)
	case ns < 1e9:
		return fmt.Sprintf("%.4g ms", ns/1e6)
	}
	return fmt.Sprintf("%.4g s", ns/1e9)
}

// strategies are the ways to search, by name.
var strategies = map[string]trial.Strategy{strategySweep: trial.Sweep, strategySearch: trial.Search}

// storedRows is how many measurements an entry keeps, the fastest ones: as many as a
// worker's tuner takes.
const storedRows = 32

// tunedEntry is a result in the form of the tuner's cache.
func tunedEntry(t *tuneResult, key cache.Key) cache.Entry {
	e := cache.Entry{Key: key}
	// The choice was made with more than these medians. What was faster by luck must not take its place
	// as soon as a worker reads them.
	least := 0.0
	if c := t.chosen(); c != nil {
		least = c.MedianNs
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		g := r.Geometry()
		if r.Chosen {
			e.Selected = g
		}
		if !r.Chosen && len(e.Measurements) >= storedRows-1 {
			continue
		}
		ns := max(r.MedianNs, least) / float64(t.Slots)
		e.Measurements = append(e.Measurements, cache.Measurement{
			Geometry: g, Count: uint64(r.Launches), Mean: ns, M2: math.Pow(r.Spread*ns, 2) * float64(r.Launches-1),
		})
	}
	return e
}

// openTuned opens the tuner's cache in which a worker on this device looks. It returns nil if nothing is to
// be stored. Before anything is measured, the error says why that would not work.
func (c *tuneCmd) openTuned(catalog *kernel.Catalog, device worker.Device, log *slog.Logger) (*cache.Cache, error) {
	dir := c.TunerCache.Place()
	if dir == "" {
		return nil, nil
	}
	worker := worker.Announcement(device, catalog)
	store := cache.Open(cache.Options{Dir: dir, Device: actors.IdentityOf(&worker), Max: cache.DefaultMax, Delay: cache.DefaultDelay, Log: log})
	if err := store.Flush(context.Background()); err != nil {
		return nil, errors.Join(fmt.Errorf("tune: the result could not be stored; name another --tuner-cache, or none with --tuner-cache=: %w", err), store.Close())
	}
	return store, nil
}

// storeTuned stores a result where the tuner of a worker on this device finds it.
func storeTuned(t *tuneResult, store *cache.Cache, r *trial.Ring, catalog *kernel.Catalog, device worker.Device) error {
	worker := worker.Announcement(device, catalog)
	key := tuneKey(r, catalog, actors.IdentityOf(&worker))
	err := store.Put(tunedEntry(t, key))
	if err == nil {
		err = store.Flush(context.Background())
	}
	if err != nil {
		return fmt.Errorf("tune: the result is not stored: %w", err)
	}
	t.Stored, t.Key = store.Path(), key.String()
	return nil
}

// tuneKey is the key under which a worker's tuner looks for this workload: it knows
// launches by their kernel, their clock and their size.
func tuneKey(r *trial.Ring, catalog *kernel.Catalog, identity string) cache.Key {
	kernel := kernel.NewIdentities(catalog).Of(kernel.Kernel{Kind: kernel.Interpreter})
	return session.Key(session.Program{ID: kernel, Source: uint8(worker.TimeSource(r.Clock)), Mode: session.On}, r.Bucket, r.Limits, identity)
}
