package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"ringmaster/megakernel/tuner/live"
)

// Errors of a tuning run.
var (
	// errBudget says that a budget allows no comparison.
	errBudget = errors.New("tune: the budget is too small")
	// errSpent ends a strategy when its budget is spent. It is no failure.
	errSpent = errors.New("tune: the budget is spent")
)

const (
	// leastLaunches are enough to compare a handful of geometries twice.
	leastLaunches = 8
	// leastGeometries is the least number that a comparison needs.
	leastGeometries = 4
	// finalShare of a budget is reserved for comparing the best once more.
	finalShare  = 0.15
	finalists   = 4
	finalRounds = 9
)

// tuneRun measures geometries of a ring within a budget and keeps the times.
type tuneRun struct {
	space    *live.Space
	launch   func(live.Geometry) (live.Report, error)
	warm     func() error  // before the first launch
	launches int           // budget; 0: no bound
	span     time.Duration // likewise
	now      func() time.Time
	progress func(done float64, r *tuneRun)

	begin  time.Time
	share  float64           // of the budget that may be spent by now
	times  map[int][]float64 // nanoseconds of each launch, by geometry
	count  int
	latest int // geometry
}

// measure runs a launch. errSpent says that the budget does not allow it.
func (r *tuneRun) measure(ctx context.Context, config int) (live.Report, error) {
	if err := ctx.Err(); err != nil {
		return live.Report{}, err
	}
	if r.spent() >= r.share {
		return live.Report{}, errSpent
	}
	report, err := r.launch(r.space.At(config))
	if err != nil {
		return report, err
	}
	r.times[config] = append(r.times[config], float64(report.Ns))
	r.count++
	r.latest = config
	if r.progress != nil {
		r.progress(r.spent(), r)
	}
	return report, nil
}

// spent is how much of the budget is used, 1 for all of it.
func (r *tuneRun) spent() float64 {
	spent := 0.0
	if r.launches > 0 {
		spent = float64(r.count) / float64(r.launches)
	}
	if r.span > 0 {
		spent = max(spent, float64(r.now().Sub(r.begin))/float64(r.span))
	}
	return spent
}

// run measures by a strategy and then compares the best again, in turn. It returns the
// chosen geometry, and whether the strategy ended by itself.
func (r *tuneRun) run(ctx context.Context, strategy func(context.Context, *tuneRun) (chosen int, err error)) (chosen int, whole bool, err error) {
	if err := r.warm(); err != nil {
		return unchosen, false, err
	}
	r.times, r.begin, r.share = make(map[int][]float64), r.now(), 1-finalShare
	chosen, err = strategy(ctx, r)
	whole = err == nil
	if err != nil && !errors.Is(err, errSpent) {
		return -1, false, err
	}
	if len(r.times) < min(leastGeometries, r.space.Len()) {
		return -1, false, fmt.Errorf("%w: it allowed %d launches at %d geometries, %d are needed at least; give more --launches or --seconds", errBudget, r.count, len(r.times), leastGeometries)
	}
	if chosen >= 0 {
		return chosen, whole, nil
	}
	r.share = 1
	chosen, err = r.final(ctx)
	return chosen, whole, err
}

// final compares the best geometries in turn, so that all of them see the machine in the
// same state, and chooses the one with the least median of these launches.
func (r *tuneRun) final(ctx context.Context) (int, error) {
	best := r.best(finalists)
	again := make(map[int][]float64)
	for range finalRounds {
		for _, c := range best {
			report, err := r.measure(ctx, c)
			if errors.Is(err, errSpent) && len(again[best[len(best)-1]]) == 0 {
				return best[0], nil // not even a round
			} else if errors.Is(err, errSpent) {
				return fastest(best, again), nil
			} else if err != nil {
				return unchosen, err
			}
			again[c] = append(again[c], float64(report.Ns))
		}
	}
	return fastest(best, again), nil
}

// fastest is the one of some geometries with the least median time.
func fastest(of []int, times map[int][]float64) int {
	return slices.MinFunc(of, func(a, b int) int { return cmp.Compare(median(times[a]), median(times[b])) })
}

// best are the geometries with the least median times, at most n.
func (r *tuneRun) best(n int) []int {
	all := make([]int, 0, len(r.times))
	for c := range r.times {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b int) int {
		return cmp.Or(cmp.Compare(median(r.times[a]), median(r.times[b])), cmp.Compare(a, b))
	})
	return all[:min(n, len(all))]
}

// rows are what was measured, the fastest first.
func (r *tuneRun) rows(chosen int) []tuneRow {
	var rows []tuneRow
	least := math.Inf(1)
	for _, c := range r.best(len(r.times)) {
		g, times := r.space.At(c), r.times[c]
		mean, deviation := meanOf(times)
		row := tuneRow{
			Width: g.Width, Groups: g.Groups, Chunk: g.Chunk, Depth: g.Depth,
			Launches: len(times), MeanNs: mean, MedianNs: median(times), Spread: deviation / mean, Chosen: c == chosen,
		}
		least = min(least, row.MedianNs)
		row.VsBest = row.MedianNs / least
		rows = append(rows, row)
	}
	return rows
}

// meanOf is the mean and the sample standard deviation, which is 0 for one value.
func meanOf(of []float64) (mean, deviation float64) {
	for _, x := range of {
		mean += x / float64(len(of))
	}
	for _, x := range of {
		deviation += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(deviation / float64(max(len(of)-1, 1)))
}
