package main

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"

	"ringmaster/megakernel/tuner/live"
	"ringmaster/megakernel/tuner/search"
)

// unchosen leaves the choice to the final comparison.
const unchosen = -1

const (
	// firstPass is the share of the budget in which a sweep looks at everything.
	firstPass = 0.6
	// Geometries within this factor of the best are measured again, up to this many times in all.
	sweepClose  = 1.25
	sweepPasses = 4
	// climbers are the best geometries whose neighbours are looked at.
	climbers = 4
)

// sweep measures every geometry once, from a coarse grid to a fine one. If the
// budget does not allow all, it goes on from the best of the grid to their
// neighbours. Then it measures those near the best again.
func sweep(ctx context.Context, r *tuneRun) (int, error) {
	order := coarseToFine(r.space)
	all := r.share
	r.share = firstPass * all
	whole := r.each(ctx, order)
	r.share = all
	if errors.Is(whole, errSpent) {
		if err := climb(ctx, r); err != nil {
			return unchosen, err
		}
	} else if whole != nil {
		return unchosen, whole
	}
	for range sweepPasses - 1 {
		bound := sweepClose * median(r.times[r.best(1)[0]])
		near := slices.DeleteFunc(r.best(len(r.times)), func(c int) bool { return median(r.times[c]) > bound })
		if err := r.each(ctx, near); err != nil {
			return unchosen, err
		}
	}
	return unchosen, whole
}

// each measures geometries in their order.
func (r *tuneRun) each(ctx context.Context, order []int) error {
	for _, c := range order {
		if _, err := r.measure(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// climb measures the neighbours of the best geometries until none is new.
func climb(ctx context.Context, r *tuneRun) error {
	for fresh := true; fresh; {
		fresh = false
		for _, best := range r.best(climbers) {
			for _, c := range r.space.Discrete().AppendNeighbours(nil, best) {
				if len(r.times[c]) > 0 {
					continue
				}
				fresh = true
				if _, err := r.measure(ctx, c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// coarseToFine are the geometries of a space: first those of a grid with every
// fourth value on each axis, then with every second, then the rest.
func coarseToFine(s *live.Space) []int {
	grid := make([]int, s.Len())
	order := make([]int, s.Len())
	for i := range order {
		g := s.At(i)
		order[i], grid[i] = i, 2
		for _, v := range [...]uint32{g.Width, g.Groups, g.Chunk} {
			grid[i] = min(grid[i], bits.TrailingZeros(uint(bits.Len32(v)-1)))
		}
		if g.Depth < s.At(s.Len()-1).Depth {
			grid[i] = min(grid[i], 1) // the whole launch in one dispatch is the usual case
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(grid[b], grid[a]) })
	return order
}

// searchRing lets a search look for the best geometry. It has no notion of noise, so the
// best are compared again afterwards.
func searchRing(ctx context.Context, r *tuneRun) (int, error) {
	searcher := search.New(r.space.Discrete(), search.Options{Seed: 1})
	for {
		c, ok := searcher.Ask()
		if !ok {
			return unchosen, nil
		}
		report, err := r.measure(ctx, c)
		if err != nil {
			return unchosen, err
		}
		searcher.Tell(c, float64(report.Ns))
	}
}

// strategies are the ways to search, by name.
var strategies = map[string]func(context.Context, *tuneRun) (int, error){
	strategySweep: sweep, strategySearch: searchRing, strategyLive: liveRing,
}

// liveRing lets the tuner of a running ring explore, as it does on a worker, and takes its
// choice.
func liveRing(ctx context.Context, r *tuneRun) (int, error) {
	r.share = 1
	tuner := live.New(live.Config{Space: r.space})
	choice := func() int {
		c, _ := r.space.Find(tuner.Next().Geometry)
		return c
	}
	for tuner.Next().Left > 0 {
		report, err := r.measure(ctx, choice())
		if err != nil {
			return choice(), err
		}
		// The tuner counts a report that it refuses, and asks again.
		_ = tuner.Observe(report)
	}
	return choice(), nil
}
