package trial

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"

	"ringmaster/megakernel/tuner/live"
	"ringmaster/megakernel/tuner/search"
)

const (
	// firstPass is the share of the budget in which a sweep looks at everything.
	firstPass = 0.6
	// Geometries within this factor of the best are measured again, up to this many times in all.
	sweepClose  = 1.25
	sweepPasses = 4
	// climbers are the best geometries whose neighbours are looked at.
	climbers = 4
)

// Sweep measures every geometry once, from a coarse grid to a fine one. If the
// budget does not allow all, it goes on from the best of the grid to their
// neighbours. Then it measures those near the best again.
func Sweep(ctx context.Context, r *Run) error {
	order := coarseToFine(r.Space)
	all := r.share
	r.share = firstPass * all
	whole := r.each(ctx, order)
	r.share = all
	if errors.Is(whole, errSpent) {
		if err := climb(ctx, r); err != nil {
			return err
		}
	} else if whole != nil {
		return whole
	}
	for range sweepPasses - 1 {
		bound := sweepClose * Median(r.Times[r.Best(1)[0]])
		near := slices.DeleteFunc(r.Best(len(r.Times)), func(c int) bool { return Median(r.Times[c]) > bound })
		if err := r.each(ctx, near); err != nil {
			return err
		}
	}
	return whole
}

// each measures geometries in their order.
func (r *Run) each(ctx context.Context, order []int) error {
	for _, c := range order {
		if _, err := r.measure(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// climb measures the neighbours of the best geometries until none is new.
func climb(ctx context.Context, r *Run) error {
	for fresh := true; fresh; {
		fresh = false
		for _, best := range r.Best(climbers) {
			for _, c := range r.Space.Discrete().AppendNeighbours(nil, best) {
				if len(r.Times[c]) > 0 {
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

// Search lets a search look for the best geometry. It has no notion of noise, so the best are compared
// again afterwards.
func Search(ctx context.Context, r *Run) error {
	searcher := search.New(r.Space.Discrete(), 1)
	for {
		c, ok := searcher.Ask()
		if !ok {
			return nil
		}
		report, err := r.measure(ctx, c)
		if err != nil {
			return err
		}
		searcher.Tell(c, float64(report.Ns))
	}
}
