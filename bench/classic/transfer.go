package classic

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"ringmaster/bench/recorded"
	"ringmaster/megakernel/tuner/search"
	"ringmaster/megakernel/tuner/space"
)

// worstRatio is the logarithm of cost over best beyond which a configuration
// counts as one that fails.
const worstRatio = 2

// transfer maps a recording onto another space: it returns for each configuration
// min(log(cost/best), worstRatio). Configurations are matched by the parameters
// that both spaces have; where several match, the result is their mean, and where
// none does, NaN.
func transfer(from *recorded.Recording, to *space.Space) []float64 {
	own, theirs := common(to, from.Space)
	sums, counts := map[string]float64{}, map[string]float64{}
	for c := range from.Len() {
		key := matchKey(from.Space, c, theirs)
		sums[key] += min(math.Log(from.Costs[c]/from.Best()), worstRatio)
		counts[key]++
	}
	out := make([]float64, to.Len())
	for c := range out {
		key := matchKey(to, c, own)
		out[c] = sums[key] / counts[key] // 0/0 where nothing matches
	}
	return out
}

// common lists the parameters of two spaces that have the same name.
func common(a, b *space.Space) (inA, inB []int) {
	for i, p := range a.Params() {
		for j, q := range b.Params() {
			if p.Name == q.Name {
				inA, inB = append(inA, i), append(inB, j)
			}
		}
	}
	return inA, inB
}

func matchKey(s *space.Space, config int, params []int) string {
	var b strings.Builder
	for _, j := range params {
		p, level := &s.Params()[j], s.Levels(config)[j]
		if p.Numbers != nil { // 1 and 1.0 are the same
			b.WriteString(strconv.FormatFloat(p.Numbers[level], 'g', -1, 64))
		} else {
			b.WriteString(p.Values[level])
		}
		b.WriteByte(0)
	}
	return b.String()
}

// transferred maps recordings onto a space, and gives the mean over them, in which a
// configuration that none of them has is as bad as one that fails.
func transferred(history []*recorded.Recording, s *space.Space) (sources [][]float64, mean []float64) {
	for _, h := range history {
		sources = append(sources, transfer(h, s))
	}
	mean = make([]float64, s.Len())
	for c := range mean {
		sum, count := 0.0, 0.0
		for _, z := range sources {
			if !math.IsNaN(z[c]) {
				sum += z[c]
				count++
			}
		}
		mean[c] = worstRatio
		if count > 0 {
			mean[c] = sum / count
		}
	}
	return sources, mean
}

// rank tries configurations by their mean relative cost in the history.
type rank struct {
	search.Measured
	ranked []int
}

func newRank(s *space.Space, o Options) Searcher {
	_, mean := transferred(o.History, s)
	order := make([]int, len(mean))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
	return &rank{search.NewMeasured(s), order}
}

func (r *rank) Ask() (int, bool) {
	for len(r.ranked) > 0 && r.Known(r.ranked[0]) {
		r.ranked = r.ranked[1:]
	}
	if len(r.ranked) == 0 {
		return 0, false
	}
	return r.ranked[0], true
}

func (r *rank) Tell(config int, cost float64) { r.Record(config, cost) }
