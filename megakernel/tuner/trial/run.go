package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/live"
)

// Errors of a tuning run.
var (
	// ErrBudget says that a budget allows no comparison.
	ErrBudget = errors.New("the budget is too small")
	// errSpent ends a strategy when its budget is spent. It is no failure.
	errSpent = errors.New("the budget is spent")
)

const (
	// LeastLaunches are enough to compare a handful of geometries twice.
	LeastLaunches = 8
	// leastGeometries is the least number that a comparison needs.
	leastGeometries = 4
	// finalShare of a budget is reserved for comparing the best once more.
	finalShare = 0.15
	// Finalists are compared once more, finalRounds times each.
	Finalists   = 4
	finalRounds = 9
)

// A Strategy measures geometries of a run until its budget is spent or it knows enough.
type Strategy func(ctx context.Context, r *Run) error

// Unchosen is what a run that failed has chosen.
const Unchosen = -1

// Run measures geometries of a space within a budget and keeps the times.
type Run struct {
	Space    *live.Space
	Launch   func(policy.Geometry) (live.Report, error)
	Warm     func() error  // before the first launch
	Launches int           // most launches; 0: no bound
	Span     time.Duration // most time; 0: no bound
	Now      func() time.Time
	Progress func(done float64, r *Run) // after each launch; nil: nobody asks

	Times map[int][]float64 // nanoseconds of each launch, by geometry
	Count int               // launches so far

	begin time.Time
	share float64 // of the budget that may be spent by now
}

// measure runs a launch. errSpent says that the budget does not allow it.
func (r *Run) measure(ctx context.Context, config int) (live.Report, error) {
	if err := ctx.Err(); err != nil {
		return live.Report{}, err
	}
	if r.spent() >= r.share {
		return live.Report{}, errSpent
	}
	report, err := r.Launch(r.Space.At(config))
	if err != nil {
		return report, err
	}
	r.Times[config] = append(r.Times[config], float64(report.Ns))
	r.Count++
	if r.Progress != nil {
		r.Progress(r.spent(), r)
	}
	return report, nil
}

// spent is how much of the budget is used, 1 for all of it.
func (r *Run) spent() float64 {
	spent := 0.0
	if r.Launches > 0 {
		spent = float64(r.Count) / float64(r.Launches)
	}
	if r.Span > 0 {
		spent = max(spent, float64(r.Now().Sub(r.begin))/float64(r.Span))
	}
	return spent
}

// Measure measures by a strategy and then compares the best again, in turn. It returns the
// chosen geometry, and whether the strategy ended by itself.
func (r *Run) Measure(ctx context.Context, strategy Strategy) (chosen int, whole bool, err error) {
	if err := r.Warm(); err != nil {
		return Unchosen, false, err
	}
	r.Times, r.begin, r.share = make(map[int][]float64), r.Now(), 1-finalShare
	err = strategy(ctx, r)
	whole = err == nil
	if err != nil && !errors.Is(err, errSpent) {
		return Unchosen, false, err
	}
	if len(r.Times) < min(leastGeometries, r.Space.Len()) {
		return Unchosen, false, fmt.Errorf("%w: it allowed %d launches at %d geometries, %d are needed at least; give more --launches or --seconds", ErrBudget, r.Count, len(r.Times), leastGeometries)
	}
	r.share = 1
	chosen, err = r.final(ctx)
	return chosen, whole, err
}

// final compares the best geometries in turn, so that all of them see the machine in the
// same state, and chooses the one with the least median of these launches.
func (r *Run) final(ctx context.Context) (int, error) {
	best := r.Best(Finalists)
	again := make(map[int][]float64)
	for range finalRounds {
		for _, c := range best {
			report, err := r.measure(ctx, c)
			if errors.Is(err, errSpent) && len(again[best[len(best)-1]]) == 0 {
				return best[0], nil // not even a round
			} else if errors.Is(err, errSpent) {
				return fastest(best, again), nil
			} else if err != nil {
				return Unchosen, err
			}
			again[c] = append(again[c], float64(report.Ns))
		}
	}
	return fastest(best, again), nil
}

// fastest is the one of some geometries with the least median time.
func fastest(of []int, times map[int][]float64) int {
	return slices.MinFunc(of, func(a, b int) int { return cmp.Compare(Median(times[a]), Median(times[b])) })
}

// Best are the geometries with the least median times, at most n.
func (r *Run) Best(n int) []int {
	all := make([]int, 0, len(r.Times))
	for c := range r.Times {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b int) int {
		return cmp.Or(cmp.Compare(Median(r.Times[a]), Median(r.Times[b])), cmp.Compare(a, b))
	})
	return all[:min(n, len(all))]
}

// Rows are what was measured, the fastest first.
func (r *Run) Rows(chosen int) []Row {
	var rows []Row
	least := math.Inf(1)
	for _, c := range r.Best(len(r.Times)) {
		g, times := r.Space.At(c), r.Times[c]
		mean, deviation := Mean(times)
		row := Row{
			Width: g.Width, Groups: g.Groups, Chunk: g.Chunk, Depth: g.Depth,
			Launches: len(times), MeanNs: mean, MedianNs: Median(times), Spread: deviation / mean, Chosen: c == chosen,
		}
		least = min(least, row.MedianNs)
		row.VsBest = row.MedianNs / least
		rows = append(rows, row)
	}
	return rows
}

// Mean is the mean and the sample standard deviation, which is 0 for one value.
func Mean(of []float64) (mean, deviation float64) {
	for _, x := range of {
		mean += x / float64(len(of))
	}
	for _, x := range of {
		deviation += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(deviation / float64(max(len(of)-1, 1)))
}

// Median is the middle one of some values, the upper one of an even number. It leaves them in their order.
func Median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// Row is what was measured of a geometry.
type Row struct {
	Width    uint32  `json:"width"`
	Groups   uint32  `json:"groups"`
	Chunk    uint32  `json:"chunk"`
	Depth    uint32  `json:"depth"`
	Launches int     `json:"launches"`
	MeanNs   float64 `json:"mean_ns"`   // of a launch
	MedianNs float64 `json:"median_ns"` // of a launch
	Spread   float64 `json:"spread"`    // standard deviation over mean
	VsBest   float64 `json:"vs_best"`   // median over the least median
	Chosen   bool    `json:"chosen,omitempty"`
}

// Geometry is the geometry that the row is of.
func (r *Row) Geometry() policy.Geometry {
	return policy.Geometry{Width: r.Width, Groups: r.Groups, Chunk: r.Chunk, Depth: r.Depth}
}
