package search

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/tuner/search/searchtest"
	"ringmaster/megakernel/tuner/space"
)

// searches are the two ways to begin: from nothing, and with a history.
func searches(seed uint64, history ...*space.Recording) map[string]Options {
	return map[string]Options{"cold": {Seed: seed}, "warm": {Seed: seed, History: history}}
}

// reached is the fraction of the optimum that a search has found after so many
// measurements of a recording, all of which it must allow.
func reached(t testing.TB, r *space.Recording, o Options, budget int) float64 {
	t.Helper()
	m := New(r.Space, o)
	for range budget {
		c, ok := m.Ask()
		if !ok {
			t.Fatal("nothing is left to ask for")
		}
		m.Tell(c, r.Costs[c])
	}
	if m.Best < 0 {
		return 0
	}
	return r.Best() / r.Costs[m.Best]
}

func meanReached(t testing.TB, r *space.Recording, budget, repeats int, history ...*space.Recording) float64 {
	sum := 0.0
	for seed := range repeats {
		sum += reached(t, r, Options{Seed: uint64(seed), History: history}, budget)
	}
	return sum / float64(repeats)
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
	r, err := space.NewRecording(s, "k", "", costs)
	if err != nil {
		t.Fatal(err)
	}
	for strategy, o := range searches(1, r) {
		search := New(s, o)
		seen := map[int]bool{}
		for range s.Len() {
			c, ok := search.Ask()
			if !ok || seen[c] {
				t.Fatalf("%s: asked for %d, %v, after %d measurements", strategy, c, ok, len(seen))
			}
			seen[c] = true
			search.Tell(c, r.Costs[c])
		}
		if c, ok := search.Ask(); ok {
			t.Errorf("%s: everything is measured, but it asks for %d", strategy, c)
		}
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
			r, err := space.NewRecording(s, "k", "", costs)
			if err != nil {
				t.Fatal(err)
			}
			for strategy, o := range searches(uint64(n), r) {
				if got := reached(t, r, o, n); got != 1 {
					t.Fatalf("%s reaches %v of the optimum of %d", strategy, got, n)
				}
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
	r, err := space.NewRecording(s, "k", "", costs)
	if err != nil {
		t.Fatal(err)
	}
	if g := newGrid(s); g.of(2 * 4_095)[0] != cells-1 {
		t.Errorf("the last value is in cell %d", g.of(2 * 4_095)[0])
	}
	if got := meanReached(t, r, 60, 2); got < .9 {
		t.Errorf("reaches %.3f of the optimum", got)
	}
}

func TestASeedDeterminesTheSearch(t *testing.T) {
	r := searchtest.Hill(t, 0)
	run := func(o Options) (asked []int) {
		m := New(r.Space, o)
		for range 40 {
			c, _ := m.Ask()
			m.Tell(c, r.Costs[c])
			asked = append(asked, c)
		}
		return asked
	}
	other := searches(4, searchtest.Hill(t, .5))
	for strategy, o := range searches(3, searchtest.Hill(t, .5)) {
		if !slices.Equal(run(o), run(o)) {
			t.Errorf("%s: two searches of one seed differ", strategy)
		}
		if slices.Equal(run(o), run(other[strategy])) {
			t.Errorf("%s: the seed makes no difference", strategy)
		}
	}
}

// Whatever a search is told, in whatever order, it goes on asking for valid
// configurations that it does not know.
func TestAnythingMayBeTold(t *testing.T) {
	r := searchtest.Hill(t, 0)
	history := []*space.Recording{searchtest.Hill(t, 1)}
	rapid.Check(t, func(t *rapid.T) {
		strategy := rapid.SampledFrom([]string{"cold", "warm"}).Draw(t, "strategy")
		s := New(r.Space, searches(rapid.Uint64().Draw(t, "seed"), history...)[strategy])
		known := map[int]bool{}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			c, ok := s.Ask()
			if !ok || c < 0 || c >= r.Len() || known[c] {
				t.Fatalf("%s asks for %d, %v", strategy, c, ok)
			}
			if rapid.Bool().Draw(t, "other") {
				c = rapid.IntRange(0, r.Len()-1).Draw(t, "config")
			}
			s.Tell(c, rapid.SampledFrom([]float64{1, 1, 2, 3, 1e-300, 1e300, 0, -1, math.NaN(), Failed}).Draw(t, "cost"))
			known[c] = true
		}
	})
}

func TestASearchFindsTheHill(t *testing.T) {
	if got := meanReached(t, searchtest.Hill(t, 0), 40, 10); got < .95 {
		t.Errorf("reached %.3f of the optimum", got)
	}
}

func TestWarmStartUsesWhatOthersMeasured(t *testing.T) {
	r := searchtest.Hill(t, 0)
	history := []*space.Recording{searchtest.Hill(t, .4), searchtest.Hill(t, -.4)}
	warm, cold := meanReached(t, r, 6, 5, history...), meanReached(t, r, 6, 5)
	if warm < .95 || warm < cold+.05 {
		t.Errorf("warm %.3f, cold %.3f", warm, cold)
	}
}

func TestAPriorThatIsWrongIsLeft(t *testing.T) {
	r := searchtest.Hill(t, 0)
	reversed := slices.Clone(r.Costs)
	for c, cost := range reversed {
		reversed[c] = 20 - min(cost, 19)
	}
	wrong, err := space.NewRecording(r.Space, r.Kernel, "", reversed)
	if err != nil {
		t.Fatal(err)
	}
	if got := meanReached(t, r, 40, 20, wrong); got < .9 {
		t.Errorf("with a reversed prior the search reaches %.3f", got)
	}
}

func TestACostToldAgainReplacesTheFirst(t *testing.T) {
	m := NewMeasured(searchtest.Hill(t, 0).Space)
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
