package search

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"ringmaster/megakernel/tuner/search/searchtest"
	"ringmaster/megakernel/tuner/space"
)

// The posterior that grows by one observation at a time equals the one that the
// textbook's matrices give, with and without a prior's sources.
func TestPosteriorAgreesWithADenseSolution(t *testing.T) {
	r := searchtest.Hill(t, 0)
	grid := newGrid(r.Space)
	for name, features := range map[string][][]float32{"cold": nil, "with a source": {make([]float32, r.Len())}} {
		start := coldHyper(len(grid.params))
		for _, f := range features {
			for c := range f {
				f[c] = float32(c%7) / 7
			}
			start.sources, start.offset = append(start.sources, .5), 2
		}
		rng := Generator(2)
		g := newProcess(grid, rng, newPool(r.Space, rng, nil), start, coldFitting(start), features)
		var y []float64
		for i := range 25 {
			g.observe(i * 13 % r.Len())
			y = append(y, math.Sin(float64(i)))
			if i%3 == 0 || i == 24 {
				g.update(y)
			}
		}
		checkPosterior(t, name, g, y)
	}
}

func checkPosterior(t *testing.T, name string, g *process, y []float64) {
	t.Helper()
	n := len(y)
	k := mat.NewSymDense(n, nil)
	for i, a := range g.observed {
		for j, b := range g.observed[:i+1] {
			k.SetSym(i, j, g.kernel(g.tables, &g.hyper, a, b))
		}
		k.SetSym(i, i, g.own(&g.hyper, a)+g.hyper.noise)
	}
	var c mat.Cholesky
	if !c.Factorize(k) {
		t.Fatal("not positive definite")
	}
	for i := 0; i < len(g.pool.configs); i += 17 {
		at := int(g.pool.configs[i])
		row := mat.NewVecDense(n, nil)
		for j, o := range g.observed {
			row.SetVec(j, g.kernel(g.tables, &g.hyper, at, o))
		}
		var w mat.VecDense
		if err := c.SolveVecTo(&w, row); err != nil {
			t.Fatal(err)
		}
		mean := mat.Dot(&w, mat.NewVecDense(n, append([]float64(nil), y...)))
		variance := g.own(&g.hyper, at) - mat.Dot(&w, row)
		if math.Abs(mean-float64(g.mean[i])) > 2e-3 || math.Abs(variance-float64(g.variance[i])) > 2e-3 {
			t.Fatalf("%s: configuration %d: mean %v, variance %v, want %v, %v", name, at, g.mean[i], g.variance[i], mean, variance)
		}
	}
}

func TestFitRaisesTheDensityAndFindsWhatDoesNotMatter(t *testing.T) {
	r := searchtest.Hill(t, 0)
	rng := Generator(3)
	grid := newGrid(r.Space)
	start := coldHyper(len(grid.params))
	g := newProcess(grid, rng, newPool(r.Space, rng, nil), start, coldFitting(start), nil)
	var y []float64
	for i := range 60 {
		c := i * 31 % r.Len()
		g.observe(c)
		y = append(y, 2*r.Space.Params()[0].Coords[r.Levels(c)[0]]-1) // only the first parameter counts
	}
	tables := make(tables, len(grid.params))
	before := g.density(&g.hyper, tables, y)
	for range 5 {
		g.fit(y)
	}
	if after := g.density(&g.hyper, tables, y); after <= before {
		t.Errorf("density %v, before the fit %v", after, before)
	}
}

func TestNormalScoresAreQuantilesOfRanks(t *testing.T) {
	got := Scores([]float64{30, 10, 20, 10, math.Inf(1)})
	n := distuv.UnitNormal
	for i, rank := range []float64{3.5, 1, 2.5, 1, 4.5} {
		if want := -n.Quantile(rank / 5); math.Abs(got[i]-want) > 1e-9 {
			t.Errorf("score %d is %v, want %v", i, got[i], want)
		}
	}
}

func TestForestLearnsAStep(t *testing.T) {
	r := searchtest.Hill(t, 0)
	f := newFeatures(r.Space)
	rng := Generator(4)
	forest := forest{rng: rng}
	x := make([][]float32, f.n())
	row := make([]float32, f.n())
	value := func(c int) float64 { // a rule about a product, which no single coordinate shows
		l := r.Levels(c)
		if r.Params()[0].Numbers[l[0]]*r.Params()[1].Numbers[l[1]] > 300 {
			return 1
		}
		return -1
	}
	var y []float64
	for i := range 120 {
		c := i * 7 % r.Len()
		f.of(c, row)
		for j, v := range row {
			x[j] = append(x[j], v)
		}
		y = append(y, value(c))
	}
	forest.grow(x, y)
	wrong := 0
	for c := range r.Len() {
		f.of(c, row)
		if mean, sd := forest.predict(row); mean*value(c) < 0 || math.IsNaN(sd) {
			wrong++
		}
	}
	if wrong > r.Len()/12 {
		t.Errorf("%d of %d configurations are on the wrong side", wrong, r.Len())
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
	from, err := space.NewRecording(source, "k", "", []float64{1, 2, math.E, Failed})
	if err != nil {
		t.Fatal(err)
	}
	z := transfer(from, to)
	for c, want := range []float64{.5, .5, (math.Log(2) + worstRatio) / 2, (math.Log(2) + worstRatio) / 2, math.NaN(), math.NaN()} {
		if math.Abs(z[c]-want) > 1e-12 || math.IsNaN(want) != math.IsNaN(z[c]) {
			t.Errorf("%v: %v, want %v", to.Levels(c), z[c], want)
		}
	}
	if mean := meanOf([][]float64{z}, []float64{1}, to.Len()); mean[4] != worstRatio {
		t.Errorf("what no source has is %v", mean[4])
	}
}

// A space that is larger than the pool is searched too: the best by the prior are
// in the first pool, and the neighbours of what turned out best are in later ones.
func TestAPoolHasWhatComesFirstAndWhatIsNearTheBest(t *testing.T) {
	values := make([]int, 200)
	for i := range values {
		values[i] = i
	}
	s, err := space.Product([]space.Param{space.Ints("a", values...), space.Ints("b", values...)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := newPool(s, Generator(1), []int{39_999, 5, 20_000})
	if len(p.configs) != poolSize || !p.in[39_999] || !p.in[5] || !p.in[20_000] {
		t.Errorf("pool of %d", len(p.configs))
	}
	m := New(s, Options{Seed: 1})
	for range 40 {
		c, _ := m.Ask()
		m.Tell(c, 1+math.Abs(float64(c-21_000)))
	}
	m.look()
	for _, c := range s.AppendNeighbours(nil, m.Best) {
		if !m.pool.in[c] {
			t.Fatalf("the neighbour %v of the best is not judged", s.Levels(c))
		}
	}
	seen := map[int32]bool{}
	for _, c := range m.pool.configs {
		seen[c] = true
	}
	if len(seen) != len(m.pool.configs) || m.pool.draws < 2 {
		t.Errorf("%d different of %d, %d draws", len(seen), len(m.pool.configs), m.pool.draws)
	}
}
