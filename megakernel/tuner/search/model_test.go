package search

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"ringmaster/megakernel/tuner/search/searchtest"
)

// The posterior that grows by one observation at a time equals the one that the
// textbook's matrices give.
func TestPosteriorAgreesWithADenseSolution(t *testing.T) {
	s, _ := searchtest.Hill(t, 0)
	g := newProcess(newGrid(s), Generator(2), s.Len())
	var y []float64
	for i := range 25 {
		g.observe(i * 13 % s.Len())
		y = append(y, math.Sin(float64(i)))
		if i%3 == 0 || i == 24 {
			g.update(y)
		}
	}
	checkPosterior(t, g, y)
}

func checkPosterior(t *testing.T, g *process, y []float64) {
	t.Helper()
	n := len(y)
	k := mat.NewSymDense(n, nil)
	for i, a := range g.observed {
		for j, b := range g.observed[:i+1] {
			k.SetSym(i, j, g.kernel(g.tables, &g.hyper, a, b))
		}
		k.SetSym(i, i, g.hyper.variance()+g.hyper.noise)
	}
	var c mat.Cholesky
	if !c.Factorize(k) {
		t.Fatal("not positive definite")
	}
	for at := 0; at < len(g.mean); at += 17 {
		row := mat.NewVecDense(n, nil)
		for j, o := range g.observed {
			row.SetVec(j, g.kernel(g.tables, &g.hyper, at, o))
		}
		var w mat.VecDense
		if err := c.SolveVecTo(&w, row); err != nil {
			t.Fatal(err)
		}
		mean := mat.Dot(&w, mat.NewVecDense(n, append([]float64(nil), y...)))
		variance := g.hyper.variance() - mat.Dot(&w, row)
		if math.Abs(mean-float64(g.mean[at])) > 2e-3 || math.Abs(variance-float64(g.variance[at])) > 2e-3 {
			t.Fatalf("configuration %d: mean %v, variance %v, want %v, %v", at, g.mean[at], g.variance[at], mean, variance)
		}
	}
}

func TestFitRaisesTheDensity(t *testing.T) {
	s, _ := searchtest.Hill(t, 0)
	g := newProcess(newGrid(s), Generator(3), s.Len())
	var y []float64
	for i := range 60 {
		c := i * 31 % s.Len()
		g.observe(c)
		y = append(y, 2*s.Params()[0].Coords[s.Levels(c)[0]]-1) // only the first parameter counts
	}
	tables := make(tables, len(g.grid.params))
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
