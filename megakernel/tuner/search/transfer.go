package search

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"ringmaster/megakernel/tuner/space"
)

// worstRatio is the logarithm of cost over best beyond which a configuration
// counts as one that fails.
const worstRatio = 2

// transfer maps a recording onto another space: it returns for each configuration
// min(log(cost/best), worstRatio). Configurations are matched by the parameters
// that both spaces have; where several match, the result is their mean, and where
// none does, NaN.
func transfer(from *space.Recording, to *space.Space) []float64 {
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

// meanOf is the weighted mean over the sources. A configuration that no source has
// gets worstRatio.
func meanOf(sources [][]float64, weights []float64, n int) []float64 {
	mean := make([]float64, n)
	for c := range mean {
		sum, count := 0.0, 0.0
		for i, z := range sources {
			if !math.IsNaN(z[c]) {
				sum += weights[i] * z[c]
				count += weights[i]
			}
		}
		mean[c] = worstRatio
		if count > 0 {
			mean[c] = sum / count
		}
	}
	return mean
}

func byMean(mean []float64) []int {
	order := make([]int, len(mean))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
	return order
}

// Likely are all configurations by their mean relative cost in a history, the best
// first.
func Likely(s *space.Space, o Options) []int { return byMean(newPrior(s, o).mean) }
