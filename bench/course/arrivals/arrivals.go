package arrivals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Shape is how a rate goes up and down over a span. Its mean over the span is the same for all shapes.
type Shape uint8

// Shapes. All but Even are Poisson processes: the gaps are random, and their rate follows the shape.
const (
	Even   Shape = iota // equal gaps, the first arrival after half of one
	Steady              // one rate
	OnOff               // OnOffPeaks times the rate for an equal part of each OnOffPeriod, nothing for the rest
	Ramp                // from RampFrom times the rate to 2 - RampFrom times
	Step                // StepFrom times the rate for half of the span, then 2 - StepFrom times
)

// Parameters of the shapes.
const (
	OnOffPeriod = 250 * time.Millisecond
	OnOffPeaks  = 4
	RampFrom    = 0.2
	StepFrom    = 0.5
)

var names = [...]string{Even: "even", Steady: "steady", OnOff: "bursty", Ramp: "ramp", Step: "step"}

// String is the name of a shape in tables.
func (s Shape) String() string {
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("shape %d", s)
}

// Times are the moments of arrivals in a span, in order, at perSecond in the mean. The same source of random
// numbers gives the same moments.
//
// A Poisson process whose rate changes is one of rate 1 with its time stretched by the inverse of the
// cumulated rate (Cinlar, Introduction to Stochastic Processes, 1975, section 4.7).
func Times(shape Shape, perSecond float64, span time.Duration, random *rand.Rand) (times []time.Duration) {
	expected := perSecond * span.Seconds()
	if !(expected > 0) {
		return nil
	}
	if shape == Even {
		for at := 0.5; at < expected; at++ {
			times = append(times, time.Duration(at/expected*float64(span)))
		}
		return times
	}
	for sum := random.ExpFloat64(); sum < expected; sum += random.ExpFloat64() {
		times = append(times, time.Duration(shape.inverse(sum/expected, span)*float64(span)))
	}
	return times
}

// inverse is the part of the span after which a share of the arrivals is expected.
func (s Shape) inverse(share float64, span time.Duration) float64 {
	switch s {
	case OnOff:
		periods := max(math.Round(float64(span)/float64(OnOffPeriod)), 1)
		period, within := math.Modf(share * periods)
		return (period + within/OnOffPeaks) / periods
	case Ramp: // share = a x + (1 - a) x², as the rate is a + 2 (1 - a) x
		const a, b = RampFrom, 1 - RampFrom
		return (math.Sqrt(a*a+4*b*share) - a) / (2 * b)
	case Step:
		if share < StepFrom/2 {
			return share / StepFrom
		}
		return 0.5 + (share-StepFrom/2)/(2-StepFrom)
	}
	return share
}

// Merge is the order in which arrivals of several streams come: for each, which stream it belongs to and its
// place there. Of arrivals at one moment the stream that is named first is first.
func Merge(streams [][]time.Duration) (order []Arrival) {
	for s, times := range streams {
		for i, at := range times {
			order = append(order, Arrival{At: at, Stream: s, Index: i})
		}
	}
	slices.SortStableFunc(order, func(a, b Arrival) int { return int(a.At - b.At) })
	return order
}

// Arrival is one arrival of a stream.
type Arrival struct {
	At            time.Duration
	Stream, Index int
}
