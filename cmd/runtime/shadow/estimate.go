package shadow

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// What an estimate takes at least.
const (
	leastOfWay  = 8  // launches of the way that is advised
	leastBlocks = 10 // of time
	resamples   = 1000
	reach       = 1.25 // how far beyond the slots of the launches of a way its line is believed
)

// Cost is what launches that differ from the advice took on the device beyond what they would have taken by it.
// Ns is negative where the engine was quicker than the advice.
type Cost struct {
	Launches uint64  `json:"launches"` // that it is of
	TookNs   float64 `json:"took_ns"`  // all of them
	Ns       float64 `json:"ns"`
	Low      float64 `json:"low_ns"` // of the interval at 95 %
	High     float64 `json:"high_ns"`
}

// sums are what a least-squares line of time over slots needs.
type sums struct{ n, x, y, xx, xy float64 }

func (s *sums) add(slots, ns float64) {
	s.n++
	s.x += slots
	s.y += ns
	s.xx += slots * slots
	s.xy += slots * ns
}

// line is a and b of time = a + b × slots, of which neither is below 0.
func (s *sums) line() (a, b float64) {
	if d := s.n*s.xx - s.x*s.x; d > 1e-9*s.n*s.xx {
		b = (s.n*s.xy - s.x*s.y) / d
	}
	b = max(b, 0)
	if a = (s.y - b*s.x) / s.n; a < 0 {
		a, b = 0, s.xy/s.xx
	}
	return a, b
}

// sample is a launch as an estimate sees it.
type sample struct {
	ran, advised int     // numbers of ways; advised -1: the same, or not identified
	slots, ns    float64 // of the launch
	launches     float64 // that the advice makes of it
}

// estimate is the cost of what differs, or why nobody can say: of a way that the engine did not run often, and for
// launches of more or fewer slots than it ran that way, its time is not known.
func estimate(launches []launch) (*Cost, string) {
	ways := make(map[way]int)
	var fits []sums
	var least, most []float64 // slots of a way's launches
	for _, l := range launches {
		w, known := ways[l.ran]
		if !known {
			w = len(fits)
			ways[l.ran] = w
			fits, least, most = append(fits, sums{}), append(least, math.Inf(1)), append(most, 0)
		}
		n := float64(l.slots)
		fits[w].add(n, float64(l.ns))
		least[w], most[w] = min(least[w], n), max(most[w], n)
	}
	samples := make([]sample, len(launches))
	cost, refused := Cost{}, ""
	for i, l := range launches {
		s := sample{ran: ways[l.ran], advised: -1, slots: float64(l.slots), ns: float64(l.ns), launches: float64(l.launches())}
		if l.different() {
			w, ran := ways[l.advice]
			each := s.slots / s.launches
			switch {
			case !ran || fits[w].n < leastOfWay:
				refused = fmt.Sprintf("the engine ran fewer than %d launches at %v", leastOfWay, l.advice)
			case each < least[w]/reach || each > most[w]*reach:
				refused = fmt.Sprintf("the engine ran no launch of about %.0f slots at %v", each, l.advice)
			default:
				s.advised = w
				cost.Launches++
				cost.TookNs += s.ns
			}
		}
		samples[i] = s
	}
	if cost.Launches == 0 {
		return nil, refused
	}
	cost.Ns = float64(cost.Launches) * excess(samples, len(fits))
	means := bootstrap(samples, len(fits))
	if means == nil {
		return nil, fmt.Sprintf("%d launches are too few for an interval", len(launches))
	}
	cost.Low, cost.High = float64(cost.Launches)*means[len(means)/40], float64(cost.Launches)*means[len(means)-1-len(means)/40]
	return &cost, refused
}

// excess is how much longer launches took than by the advice, in the mean of those that differ; NaN without any.
func excess(samples []sample, ways int) float64 {
	fits, advised := make([]sums, ways), make([]struct{ launches, slots float64 }, ways)
	took, n := 0.0, 0.0
	for _, s := range samples {
		fits[s.ran].add(s.slots, s.ns)
		if s.advised >= 0 {
			advised[s.advised].launches += s.launches
			advised[s.advised].slots += s.slots
			took += s.ns
			n++
		}
	}
	for w, s := range advised {
		if s.launches > 0 {
			a, b := fits[w].line() // without launches of the way NaN
			took -= a*s.launches + b*s.slots
		}
	}
	return took / n
}

// bootstrap is the excess of samples drawn again in blocks, sorted, or nil if there are too few. Launches near each other
// in time are alike, so whole blocks of neighbours are drawn (H. R. Künsch, Annals of Statistics 17, 1989), of
// n^(1/3) launches each. The lines are fitted again each time. The seed is fixed: the same launches give the same interval.
func bootstrap(samples []sample, ways int) (means []float64) {
	n := len(samples)
	length := int(math.Ceil(math.Cbrt(float64(n))))
	if n/length < leastBlocks {
		return nil
	}
	random := rand.New(rand.NewPCG(1, 2))
	drawn := make([]sample, 0, n+length)
	for range resamples {
		drawn = drawn[:0]
		for len(drawn) < n {
			at := random.IntN(n - length + 1)
			drawn = append(drawn, samples[at:at+length]...)
		}
		if mean := excess(drawn[:n], ways); !math.IsNaN(mean) {
			means = append(means, mean)
		}
	}
	if len(means) < resamples*95/100 {
		return nil // the launches that tell are in too few blocks
	}
	slices.Sort(means)
	return means
}
