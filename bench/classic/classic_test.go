package classic

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ringmaster/bench/recorded"
	"ringmaster/megakernel/tuner/search"
	"ringmaster/megakernel/tuner/search/searchtest"
	"ringmaster/megakernel/tuner/space"
)

func hill(t testing.TB, shape float64) *recorded.Recording {
	t.Helper()
	s, costs := searchtest.Hill(t, shape)
	r, err := recorded.NewRecording(s, "hill", "", costs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newSearcher(t testing.TB, strategy string, r *recorded.Recording, o Options) Searcher {
	t.Helper()
	s, err := New(strategy, r.Space, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func options(seed uint64, budget int, history ...*recorded.Recording) Options {
	return Options{Seed: seed, History: history, Budget: budget}
}

func TestUnknownStrategyAndMissingHistoryAreRefused(t *testing.T) {
	r := hill(t, 0)
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
			r, err := recorded.NewRecording(s, "k", "", costs)
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
	r := hill(t, 0)
	for _, strategy := range Strategies {
		run := func(seed uint64) (asked []int) {
			s := newSearcher(t, strategy, r, options(seed, 40, hill(t, .5)))
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
	r := hill(t, 0)
	history := []*recorded.Recording{hill(t, 1)}
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

func meanFraction(t testing.TB, strategy string, r *recorded.Recording, budget, repeats int, history ...*recorded.Recording) float64 {
	sum := 0.0
	for seed := range repeats {
		s := newSearcher(t, strategy, r, options(uint64(seed), budget, history...))
		sum += Fraction(Replay(s, r, budget), r, budget)
	}
	return sum / float64(repeats)
}

func TestSearchesAreBetterThanChance(t *testing.T) {
	r := hill(t, 0)
	random := meanFraction(t, "random", r, 40, 20)
	for _, strategy := range []string{"local", "annealing", "genetic", "natural", Cold} {
		if got := meanFraction(t, strategy, r, 40, 20); got < random+.01 {
			t.Errorf("%s reaches %.3f of the optimum, random %.3f", strategy, got, random)
		}
	}
}

func TestFractionIsOptimumOverFound(t *testing.T) {
	r := hill(t, 0)
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

func TestWarmStartUsesWhatOthersMeasured(t *testing.T) {
	r := hill(t, 0)
	warm, cold := meanFraction(t, Warm, r, 6, 5, hill(t, .4), hill(t, -.4)), meanFraction(t, Cold, r, 6, 5)
	if warm < .95 || warm < cold+.05 {
		t.Errorf("warm %.3f, cold %.3f", warm, cold)
	}
}

func TestAPriorThatIsWrongIsLeft(t *testing.T) {
	r := hill(t, 0)
	reversed := slices.Clone(r.Costs)
	for c, cost := range reversed {
		reversed[c] = 20 - min(cost, 19)
	}
	wrong, err := recorded.NewRecording(r.Space, r.Kernel, "", reversed)
	if err != nil {
		t.Fatal(err)
	}
	if got := meanFraction(t, Warm, r, 40, 20, wrong); got < .9 {
		t.Errorf("with a reversed prior the search reaches %.3f", got)
	}
}

func TestTransferMatchesOnTheParametersBothHave(t *testing.T) {
	to, err := space.Product([]space.Param{space.Ints("b", 1, 2, 3), space.Ints("only here", 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	source, err := space.Product([]space.Param{space.Ints("a", 0, 1), space.Ints("b", 1, 2)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	from, err := recorded.NewRecording(source, "k", "", []float64{1, 2, math.E, search.Failed})
	if err != nil {
		t.Fatal(err)
	}
	z := transfer(from, to)
	for c, want := range []float64{.5, .5, (math.Log(2) + worstRatio) / 2, (math.Log(2) + worstRatio) / 2, math.NaN(), math.NaN()} {
		if math.Abs(z[c]-want) > 1e-12 || math.IsNaN(want) != math.IsNaN(z[c]) {
			t.Errorf("%v: %v, want %v", to.Levels(c), z[c], want)
		}
	}
	if _, mean := transferred([]*recorded.Recording{from}, to); mean[4] != worstRatio {
		t.Errorf("what no source has is %v", mean[4])
	}
}
