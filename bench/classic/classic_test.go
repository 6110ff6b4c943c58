package classic

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/tuner/search"
	"ringmaster/megakernel/tuner/search/searchtest"
	"ringmaster/megakernel/tuner/space"
)

func newSearcher(t testing.TB, strategy string, r *space.Recording, o Options) Searcher {
	t.Helper()
	s, err := New(strategy, r.Space, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func options(seed uint64, budget int, history ...*space.Recording) Options {
	return Options{Options: search.Options{Seed: seed, History: history}, Budget: budget}
}

func TestUnknownStrategyAndMissingHistoryAreRefused(t *testing.T) {
	r := searchtest.Hill(t, 0)
	for _, name := range []string{"", "simulated", "warm", "rank"} {
		if _, err := New(name, r.Space, Options{}); err == nil {
			t.Errorf("%q: no error", name)
		}
	}
}

// A space of a few configurations is measured completely, whatever fails, and no configuration twice.
func TestEveryStrategyMeasuresEachConfigurationOnce(t *testing.T) {
	for n := 1; n <= 34; n++ {
		for _, failing := range []int{2, n + 1} { // every second one, none
			values, costs := make([]int, n), make([]float64, n)
			for i := range n {
				values[i], costs[i] = i, float64(1+i)
				if i%failing == failing-1 {
					costs[i] = search.Failed
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
			for _, strategy := range Strategies {
				searcher := newSearcher(t, strategy, r, options(uint64(n), 100, r))
				if curve := Replay(searcher, r, 100); len(curve) != n || Fraction(curve, r, 100) != 1 {
					t.Fatalf("%s ends after %d of %d measurements at %v of the optimum", strategy, len(curve), n, Fraction(curve, r, 100))
				}
			}
		}
	}
}

func TestASeedDeterminesTheSearch(t *testing.T) {
	r := searchtest.Hill(t, 0)
	for _, strategy := range Strategies {
		run := func(seed uint64) (asked []int) {
			s := newSearcher(t, strategy, r, options(seed, 40, searchtest.Hill(t, .5)))
			for range 40 {
				c, _ := s.Ask()
				s.Tell(c, r.Costs[c])
				asked = append(asked, c)
			}
			return asked
		}
		if !slices.Equal(run(3), run(3)) {
			t.Errorf("%s: two searches of one seed differ", strategy)
		}
		if strategy != "rank" && slices.Equal(run(3), run(4)) {
			t.Errorf("%s: the seed makes no difference", strategy)
		}
	}
}

// Whatever a searcher is told, in whatever order, it goes on asking for valid
// configurations that it does not know.
func TestAnythingMayBeTold(t *testing.T) {
	r := searchtest.Hill(t, 0)
	history := []*space.Recording{searchtest.Hill(t, 1)}
	rapid.Check(t, func(t *rapid.T) {
		strategy := rapid.SampledFrom(Strategies).Draw(t, "strategy")
		s, err := New(strategy, r.Space, options(rapid.Uint64().Draw(t, "seed"), 25, history...))
		if err != nil {
			t.Fatal(err)
		}
		known := map[int]bool{}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			c, ok := s.Ask()
			if !ok || c < 0 || c >= r.Len() || known[c] {
				t.Fatalf("%s asks for %d, %v", strategy, c, ok)
			}
			if rapid.Bool().Draw(t, "other") {
				c = rapid.IntRange(0, r.Len()-1).Draw(t, "config")
			}
			s.Tell(c, rapid.SampledFrom([]float64{1, 1, 2, 3, 1e-300, 1e300, 0, -1, math.NaN(), search.Failed}).Draw(t, "cost"))
			known[c] = true
		}
	})
}

func meanFraction(t testing.TB, strategy string, r *space.Recording, budget, repeats int, history ...*space.Recording) float64 {
	sum := 0.0
	for seed := range repeats {
		s := newSearcher(t, strategy, r, options(uint64(seed), budget, history...))
		sum += Fraction(Replay(s, r, budget), r, budget)
	}
	return sum / float64(repeats)
}

func TestSearchesAreBetterThanChance(t *testing.T) {
	r := searchtest.Hill(t, 0)
	random := meanFraction(t, "random", r, 40, 20)
	for _, strategy := range []string{"local", "annealing", "genetic", "natural", Cold} {
		if got := meanFraction(t, strategy, r, 40, 20); got < random+.01 {
			t.Errorf("%s reaches %.3f of the optimum, random %.3f", strategy, got, random)
		}
	}
}

func TestFractionIsOptimumOverFound(t *testing.T) {
	r := searchtest.Hill(t, 0)
	if got := Fraction([]float64{search.Failed, 2 * r.Best(), r.Best()}, r, 2); got != .5 {
		t.Errorf("got %v", got)
	}
	if got := Fraction([]float64{search.Failed}, r, 1); got != 0 {
		t.Errorf("nothing ran, but %v", got)
	}
	if got := Fraction([]float64{r.Best()}, r, 9); got != 1 {
		t.Errorf("a search that ended early has %v", got)
	}
}
