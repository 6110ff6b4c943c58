package search

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/tuner/search/searchtest"
	"ringmaster/megakernel/tuner/space"
)

// reached is the fraction of the optimum that a search has found after so many measurements,
// all of which it must allow.
func reached(t testing.TB, s *space.Space, costs []float64, seed uint64, budget int) float64 {
	t.Helper()
	m := New(s, seed)
	for range budget {
		c, ok := m.Ask()
		if !ok {
			t.Fatal("nothing is left to ask for")
		}
		m.Tell(c, costs[c])
	}
	if m.Best < 0 {
		return 0
	}
	return slices.Min(costs) / costs[m.Best]
}

func meanReached(t testing.TB, s *space.Space, costs []float64, budget, repeats int) (mean float64) {
	for seed := range uint64(repeats) {
		mean += reached(t, s, costs, seed, budget) / float64(repeats)
	}
	return mean
}

func TestEachConfigurationIsMeasuredOnce(t *testing.T) {
	s, err := space.Product([]space.Param{space.Ints("a", 1, 2, 3, 4, 5), space.Ints("b", 1, 2, 4, 8), space.Ints("c", 0, 1)}, func(l []uint16) bool { return l[0] != 3 || l[1] != 1 })
	if err != nil {
		t.Fatal(err)
	}
	costs := make([]float64, s.Len())
	for c := range costs {
		costs[c] = 1 + float64(c*7%11)
		if c%5 == 0 {
			costs[c] = Failed
		}
	}
	search := New(s, 1)
	seen := map[int]bool{}
	for range s.Len() {
		c, ok := search.Ask()
		if !ok || seen[c] {
			t.Fatalf("asked for %d, %v, after %d measurements", c, ok, len(seen))
		}
		seen[c] = true
		search.Tell(c, costs[c])
	}
	if c, ok := search.Ask(); ok {
		t.Errorf("everything is measured, but it asks for %d", c)
	}
}

// A space of a few configurations is measured completely, whatever fails.
func TestTinySpacesAreMeasuredWhole(t *testing.T) {
	for n := 1; n <= 34; n++ {
		for _, failing := range []int{2, n + 1} { // every second one, none
			values, costs := make([]int, n), make([]float64, n)
			for i := range n {
				values[i], costs[i] = i, float64(1+i)
				if i%failing == failing-1 {
					costs[i] = Failed
				}
			}
			s, err := space.Product([]space.Param{space.Ints("a", values...), space.Ints("constant", 7)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := reached(t, s, costs, uint64(n), n); got != 1 {
				t.Fatalf("%v of the optimum of %d", got, n)
			}
		}
	}
}

// The cost of a parameter with thousands of values does not grow with their square.
func TestAParameterMayHaveThousandsOfValues(t *testing.T) {
	values := make([]int, space.MaxLevels)
	costs := make([]float64, 2*len(values))
	for i := range values {
		values[i] = i
		costs[2*i], costs[2*i+1] = 1+math.Abs(float64(i-1_000))/100, 2+math.Abs(float64(i-1_000))/100
	}
	s, err := space.Product([]space.Param{space.Ints("a", values...), space.Ints("b", 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if g := newGrid(s); g.of(2 * 4_095)[0] != cells-1 {
		t.Errorf("the last value is in cell %d", g.of(2 * 4_095)[0])
	}
	if got := meanReached(t, s, costs, 60, 2); got < .9 {
		t.Errorf("reaches %.3f of the optimum", got)
	}
}

func TestASeedDeterminesTheSearch(t *testing.T) {
	s, costs := searchtest.Hill(t, 0)
	run := func(seed uint64) (asked []int) {
		m := New(s, seed)
		for range 40 {
			c, _ := m.Ask()
			m.Tell(c, costs[c])
			asked = append(asked, c)
		}
		return asked
	}
	if !slices.Equal(run(3), run(3)) {
		t.Error("two searches of one seed differ")
	}
	if slices.Equal(run(3), run(4)) {
		t.Error("the seed makes no difference")
	}
}

// Whatever a search is told, in whatever order, it goes on asking for valid
// configurations that it does not know.
func TestAnythingMayBeTold(t *testing.T) {
	hill, _ := searchtest.Hill(t, 0)
	rapid.Check(t, func(t *rapid.T) {
		s := New(hill, rapid.Uint64().Draw(t, "seed"))
		known := map[int]bool{}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			c, ok := s.Ask()
			if !ok || c < 0 || c >= hill.Len() || known[c] {
				t.Fatalf("it asks for %d, %v", c, ok)
			}
			if rapid.Bool().Draw(t, "other") {
				c = rapid.IntRange(0, hill.Len()-1).Draw(t, "config")
			}
			s.Tell(c, rapid.SampledFrom([]float64{1, 1, 2, 3, 1e-300, 1e300, 0, -1, math.NaN(), Failed}).Draw(t, "cost"))
			known[c] = true
		}
	})
}

func TestASearchFindsTheHill(t *testing.T) {
	s, costs := searchtest.Hill(t, 0)
	if got := meanReached(t, s, costs, 40, 10); got < .95 {
		t.Errorf("reached %.3f of the optimum", got)
	}
}

func TestACostToldAgainReplacesTheFirst(t *testing.T) {
	s, _ := searchtest.Hill(t, 0)
	m := NewMeasured(s)
	m.Record(3, 5)
	m.Record(4, 6)
	if m.Record(3, 7) || m.Best != 4 || len(m.Order) != 2 {
		t.Errorf("best %d of %v", m.Best, m.Order)
	}
	m.Record(4, Failed)
	m.Record(3, Failed)
	if m.Best != -1 {
		t.Errorf("best %d, but nothing runs", m.Best)
	}
}
