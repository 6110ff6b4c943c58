package main

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"ringmaster/megakernel/frontier"
)

// directorPairs is how often a search is timed with and without its director: so often, or until twice graphPatience has
// passed, but once at least.
const directorPairs = 200

// directorTimes are times in milliseconds of a search, and those of the same search with recorded decisions, taken by turns.
type directorTimes struct{ decided, recorded []float64 }

// shares are the parts of the search's time that the recorded one beside it does not take.
func (t *directorTimes) shares() []float64 {
	shares := make([]float64, len(t.decided))
	for i, ms := range t.decided {
		shares[i] = 1 - t.recorded[i]/ms
	}
	return shares
}

// director runs a search and, by turns, the same one with recorded decisions. Every other pair begins with the recorded one.
func (b *graphBench) director(ctx context.Context, want graphReference) (*directorTimes, error) {
	recording, err := b.resident.Record(ctx, frontier.Job{Sources: []uint32{want.source}})
	if err != nil {
		return nil, err
	}
	t := &directorTimes{}
	timed := func(run func(context.Context, *frontier.Recording, bool) (frontier.Result, error), times *[]float64) error {
		if err := b.busy.run(); err != nil {
			return err
		}
		result, err := run(ctx, recording, true)
		*times = append(*times, milliseconds(&result))
		return err
	}
	for range 2 { // the first builds the kernels
		for _, run := range []func(context.Context, *frontier.Recording, bool) (frontier.Result, error){b.resident.Rerun, b.resident.Replay} {
			result, err := run(ctx, recording, false)
			if err != nil {
				return nil, err
			}
			if !slices.Equal(result.Values, want.depths) {
				return nil, errors.New("distances differ from those of a plain search")
			}
		}
	}
	for begin := time.Now(); len(t.decided) == 0 || len(t.decided) < directorPairs && time.Since(begin) < 2*graphPatience; {
		first, second := func() error { return timed(b.resident.Rerun, &t.decided) }, func() error { return timed(b.resident.Replay, &t.recorded) }
		if len(t.decided)%2 == 1 {
			first, second = second, first
		}
		if err := errors.Join(first(), second()); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (b *graphBench) directorRow(shares []float64) {
	low, high := medianInterval(shares)
	b.report.row(benchRow{Name: "graph/director/" + b.spec, Value: median(shares), Unit: "of run", Yardstick: "the run, by turns with one of recorded decisions, median of the pairs", YardstickValue: 1, Low: low, High: high})
}

// medianInterval bounds the median of what the values are drawn from, with a confidence of 95 %, by the ranks between which
// the median of independent draws lies so often. From fewer than six values it is all of them.
func medianInterval(values []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := float64(len(sorted))
	reach := 1.96 * math.Sqrt(n) / 2
	first, last := int(math.Floor(n/2-reach)), int(math.Ceil(n/2+reach))
	return sorted[max(first, 0)], sorted[min(last, len(sorted)-1)]
}
