package arrivals

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// between counts the arrivals in a part of a span.
func between(times []time.Duration, span time.Duration, from, to float64) (n int) {
	for _, at := range times {
		if x := float64(at) / float64(span); x >= from && x < to {
			n++
		}
	}
	return n
}

func TestRatesAreThoseAskedFor(t *testing.T) {
	const span, rate = 20 * time.Second, 1000.0
	all := rate * span.Seconds()
	for _, c := range []struct {
		shape    Shape
		from, to float64 // part of the span
		share    float64 // of all arrivals
	}{
		{Even, 0, 1, 1}, {Even, 0.25, 0.5, 0.25},
		{Steady, 0, 1, 1}, {Steady, 0.5, 1, 0.5},
		{OnOff, 0, 1, 1}, {OnOff, 0, 1.0 / 80 / 4, 1.0 / 80}, {OnOff, 1.01 / 80 / 4, 1.0 / 80, 0},
		{Ramp, 0, 1, 1}, {Ramp, 0, 0.5, 0.2*0.5 + 0.8*0.25},
		{Step, 0, 1, 1}, {Step, 0, 0.5, 0.25}, {Step, 0.75, 1, 0.375},
	} {
		times := Times(c.shape, rate, span, seeded(3))
		want := c.share * all
		// Five standard deviations of a Poisson count; a seed is fixed, so that this never changes.
		if got := float64(between(times, span, c.from, c.to)); math.Abs(got-want) > 5*math.Sqrt(want)+1 {
			t.Errorf("%v from %.3f to %.3f: %v arrivals, want about %v", c.shape, c.from, c.to, got, want)
		}
		if !slices.IsSorted(times) || len(times) > 0 && (times[0] < 0 || times[len(times)-1] > span) {
			t.Errorf("%v: not in order or outside of the span", c.shape)
		}
	}
}

func TestASeedDecidesEverything(t *testing.T) {
	for s := Steady; s <= Step; s++ {
		a, b, other := Times(s, 500, time.Second, seeded(7)), Times(s, 500, time.Second, seeded(7)), Times(s, 500, time.Second, seeded(8))
		if !slices.Equal(a, b) {
			t.Errorf("%v: one seed gives two schedules", s)
		}
		if slices.Equal(a, other) {
			t.Errorf("%v: two seeds give one schedule", s)
		}
	}
	if Times(Steady, 0, time.Second, seeded(1)) != nil || Times(Steady, 1, 0, seeded(1)) != nil {
		t.Error("arrivals at no rate, or in no time")
	}
}

func TestStreamsAreMergedInOrder(t *testing.T) {
	got := Merge([][]time.Duration{{10, 30}, {}, {10, 20, 40}})
	want := []Arrival{{10, 0, 0}, {10, 2, 0}, {20, 2, 1}, {30, 0, 1}, {40, 2, 2}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
