package search

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/tuner/space"
)

// hill is a synthetic kernel: block and tile interact, padding shifts the
// optimum, and large products fail. shape distorts it, as another device would.
func hill(t testing.TB, shape float64) *space.Recording {
	t.Helper()
	s, err := space.Product([]space.Param{
		space.Ints("block", 16, 32, 48, 64, 96, 128, 192, 256, 384, 512),
		space.Ints("tile", 1, 2, 3, 4, 6, 8),
		space.Ints("unroll", 0, 1, 2, 4),
		space.Ints("pad", 0, 1),
	}, func(l []uint16) bool { return l[1] != 5 || l[2] != 3 })
	if err != nil {
		t.Fatal(err)
	}
	costs := make([]float64, s.Len())
	for c := range costs {
		l := s.Levels(c)
		block, tile := s.Params()[0].Numbers[l[0]], s.Params()[1].Numbers[l[1]]
		work := math.Log2(block*tile) - 8 - shape
		costs[c] = 1 + work*work/4 + math.Abs(float64(l[2])-2+shape)/5 + .3*math.Abs(float64(l[3])-float64(l[0]%2)) + math.Abs(math.Log2(tile)-1.5)/3
		if block*tile > 1_500 {
			costs[c] = Failed
		}
	}
	r, err := space.NewRecording(s, "hill", "", costs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newSearcher(t testing.TB, strategy string, r *space.Recording, o Options) Searcher {
	t.Helper()
	s, err := New(strategy, r.Space, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestUnknownStrategyAndMissingHistoryAreRefused(t *testing.T) {
	r := hill(t, 0)
	for _, name := range []string{"", "simulated", "warm", "rank"} {
		if _, err := New(name, r.Space, Options{}); !errors.Is(err, ErrStrategy) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestEveryStrategyMeasuresEachConfigurationOnce(t *testing.T) {
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
	for _, strategy := range Strategies() {
		search := newSearcher(t, strategy, r, Options{Seed: 1, Budget: 10, History: []*space.Recording{r}})
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
			for _, strategy := range Strategies() {
				search := newSearcher(t, strategy, r, Options{Seed: uint64(n), History: []*space.Recording{r}})
				if curve := Replay(search, r, 100); len(curve) != n || Fraction(curve, r, 100) != 1 {
					t.Fatalf("%s ends after %d of %d measurements at %v of the optimum", strategy, len(curve), n, Fraction(curve, r, 100))
				}
			}
		}
	}
}

// The cost of a parameter with thousands of values grows neither with their square
// nor with their cube.
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
	if n := newNatural(s, Options{}).(*factorised); len(n.blocks[0].fisher) != len(values) || len(n.blocks[1].fisher) != 4 {
		t.Errorf("Fisher blocks of %d and %d numbers", len(n.blocks[0].fisher), len(n.blocks[1].fisher))
	}
	if g := newGrid(s); len(g.coords[0]) != maxCells || g.at(2 * 4_095)[0] != maxCells-1 {
		t.Errorf("%d cells, the last value in %d", len(g.coords[0]), g.at(2 * 4_095)[0])
	}
	for strategy, least := range map[string]float64{"natural": .05, Default: .9} {
		if got := meanFraction(t, strategy, r, 60, 2); got < least {
			t.Errorf("%s reaches %.3f of the optimum", strategy, got)
		}
	}
}

func TestASeedDeterminesTheSearch(t *testing.T) {
	r := hill(t, 0)
	for _, strategy := range Strategies() {
		run := func(seed uint64) (asked []int) {
			s := newSearcher(t, strategy, r, Options{Seed: seed, Budget: 40, History: []*space.Recording{hill(t, .5)}})
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
		if strategy != "rank" && strategy != "warm" && slices.Equal(run(3), run(4)) {
			t.Errorf("%s: the seed makes no difference", strategy)
		}
	}
}

// Whatever a searcher is told, in whatever order, it goes on asking for valid
// configurations that it does not know.
func TestAnythingMayBeTold(t *testing.T) {
	r := hill(t, 0)
	history := []*space.Recording{hill(t, 1)}
	rapid.Check(t, func(t *rapid.T) {
		strategy := rapid.SampledFrom(Strategies()).Draw(t, "strategy")
		s, err := New(strategy, r.Space, Options{Seed: rapid.Uint64().Draw(t, "seed"), History: history})
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
			s.Tell(c, rapid.SampledFrom([]float64{1, 1, 2, 3, 1e-300, 1e300, 0, -1, math.NaN(), Failed}).Draw(t, "cost"))
			known[c] = true
		}
	})
}

func meanFraction(t testing.TB, strategy string, r *space.Recording, budget, repeats int, history ...*space.Recording) float64 {
	sum := 0.0
	for seed := range repeats {
		s := newSearcher(t, strategy, r, Options{Seed: uint64(seed), Budget: budget, History: history})
		sum += Fraction(Replay(s, r, budget), r, budget)
	}
	return sum / float64(repeats)
}

func TestSearchesAreBetterThanChance(t *testing.T) {
	r := hill(t, 0)
	random := meanFraction(t, "random", r, 40, 20)
	for _, strategy := range []string{"local", "annealing", "genetic", "natural", "gaussian", "trees", "mixture"} {
		if got := meanFraction(t, strategy, r, 40, 20); got < random+.01 {
			t.Errorf("%s reaches %.3f of the optimum, random %.3f", strategy, got, random)
		}
	}
}

func TestTheDefaultFindsTheHill(t *testing.T) {
	if got := meanFraction(t, Default, hill(t, 0), 40, 10); got < .95 {
		t.Errorf("reached %.3f of the optimum", got)
	}
}

func TestWarmStartUsesWhatOthersMeasured(t *testing.T) {
	r := hill(t, 0)
	history := []*space.Recording{hill(t, .4), hill(t, -.4)}
	warm, cold := meanFraction(t, "warm", r, 6, 5, history...), meanFraction(t, Default, r, 6, 5)
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
	wrong, err := space.NewRecording(r.Space, r.Kernel, "", reversed)
	if err != nil {
		t.Fatal(err)
	}
	rank := meanFraction(t, "rank", r, 40, 1, wrong)
	if warm := meanFraction(t, "warm", r, 40, 20, wrong); warm < .9 || warm < rank+.3 {
		t.Errorf("with a reversed prior warm reaches %.3f, rank %.3f", warm, rank)
	}
}

func TestACostToldAgainReplacesTheFirst(t *testing.T) {
	told := newTold(hill(t, 0).Space)
	told.record(3, 5)
	told.record(4, 6)
	if told.record(3, 7) || told.best != 4 || len(told.order) != 2 {
		t.Errorf("best %d of %v", told.best, told.order)
	}
	told.record(4, Failed)
	told.record(3, Failed)
	if told.best != -1 {
		t.Errorf("best %d, but nothing runs", told.best)
	}
}

func TestFractionIsOptimumOverFound(t *testing.T) {
	r := hill(t, 0)
	if got := Fraction([]float64{Failed, 2 * r.Best(), r.Best()}, r, 2); got != .5 {
		t.Errorf("got %v", got)
	}
	if got := Fraction([]float64{Failed}, r, 1); got != 0 {
		t.Errorf("nothing ran, but %v", got)
	}
	if got := Fraction([]float64{r.Best()}, r, 9); got != 1 {
		t.Errorf("a search that ended early has %v", got)
	}
}
