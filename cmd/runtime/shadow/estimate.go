package shadow

import (
	"fmt"
	"math"

	"ringmaster/cmd/runtime/costs"
)

// What an estimate takes at least.
const (
	leastOfWay = 8    // launches of the way that is advised
	reach      = 1.25 // how far beyond the slots of the launches of a way its line is believed
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
	var fits []costs.Line
	var least, most []float64 // slots of a way's launches
	for _, l := range launches {
		w, known := ways[l.ran]
		if !known {
			w = len(fits)
			ways[l.ran] = w
			fits, least, most = append(fits, costs.Line{}), append(least, math.Inf(1)), append(most, 0)
		}
		n := float64(l.slots)
		fits[w].Add(n, float64(l.ns))
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
			case !ran || fits[w].Points() < leastOfWay:
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
	drawn := make([]sample, 0, len(samples))
	low, high, ok := costs.Interval(len(samples), func(numbers []int) float64 {
		drawn = drawn[:0]
		for _, i := range numbers {
			drawn = append(drawn, samples[i])
		}
		return excess(drawn, len(fits)) // the lines are fitted again each time
	})
	if !ok {
		return nil, fmt.Sprintf("%d launches are too few for an interval", len(launches))
	}
	cost.Low, cost.High = float64(cost.Launches)*low, float64(cost.Launches)*high
	return &cost, refused
}

// excess is how much longer launches took than by the advice, in the mean of those that differ; NaN without any.
func excess(samples []sample, ways int) float64 {
	fits, advised := make([]costs.Line, ways), make([]struct{ launches, slots float64 }, ways)
	took, n := 0.0, 0.0
	for _, s := range samples {
		fits[s.ran].Add(s.slots, s.ns)
		if s.advised >= 0 {
			advised[s.advised].launches += s.launches
			advised[s.advised].slots += s.slots
			took += s.ns
			n++
		}
	}
	for w, s := range advised {
		if s.launches > 0 {
			a, b := fits[w].Fit() // without launches of the way NaN
			took -= a*s.launches + b*s.slots
		}
	}
	return took / n
}
