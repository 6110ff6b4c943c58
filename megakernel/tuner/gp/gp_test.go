package gp

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// fixture is the covariance of points on a line, values there, and the covariance
// of one more point with them.
func fixture(n int) (cov *mat.SymDense, values, with []float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	at := make([]float64, n)
	for i := range at {
		at[i] = 5 * rng.Float64()
		values = append(values, math.Sin(at[i]))
		with = append(with, Matern(math.Abs(at[i]-2.5)))
	}
	cov = mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			cov.SetSym(i, j, Matern(math.Abs(at[i]-at[j])))
		}
		cov.SetSym(i, i, 1.01)
	}
	return cov, values, with
}

func TestPosteriorIsTheTextbooks(t *testing.T) {
	const n = 30
	cov, values, with := fixture(n)
	var inverse mat.Dense
	if err := inverse.Inverse(cov); err != nil {
		t.Fatal(err)
	}
	var solved mat.VecDense
	solved.MulVec(&inverse, mat.NewVecDense(n, with))
	mean := mat.Dot(&solved, mat.NewVecDense(n, values))
	sd := math.Sqrt(1 - mat.Dot(&solved, mat.NewVecDense(n, with)))

	var whole, grown Posterior
	if !whole.Condition(cov) {
		t.Fatal("not positive definite")
	}
	for i := range n {
		row := make([]float64, i+1)
		for j := range row {
			row[j] = cov.At(i, j)
		}
		grown.Add(row)
	}
	for name, p := range map[string]*Posterior{"conditioned at once": &whole, "one at a time": &grown} {
		p.Observe(values)
		m, s := p.Predict(append([]float64(nil), with...), 1)
		if p.Len() != n || math.Abs(m-mean) > 1e-8 || math.Abs(s-sd) > 1e-8 {
			t.Errorf("%s: %v ± %v of %d, want %v ± %v", name, m, s, p.Len(), mean, sd)
		}
	}
	if math.Abs(whole.LogDensity()-grown.LogDensity()) > 1e-8 {
		t.Errorf("densities %v and %v", whole.LogDensity(), grown.LogDensity())
	}
	if row, white := grown.Row(nil, 1), grown.White(); math.Abs(row[0]*white[0]+row[1]*white[1]-values[1]) > 1e-12 {
		t.Errorf("row %v times %v is not %v", row, white[:2], values[1])
	}
}

func TestPosteriorTakesTheSamePointTwice(t *testing.T) {
	var p Posterior
	p.Add([]float64{1})
	p.Add([]float64{1, 1})
	p.Observe([]float64{2, 2})
	if m, sd := p.Predict([]float64{1, 1}, 1); math.Abs(m-2) > .02 || sd > .2 || math.IsNaN(m) {
		t.Errorf("%v ± %v", m, sd)
	}
}

func TestPosteriorWithoutObservationsIsThePrior(t *testing.T) {
	var p Posterior
	p.Observe(nil)
	if m, sd := p.Predict(nil, 4); m != 0 || sd != 2 {
		t.Errorf("%v ± %v", m, sd)
	}
}

func TestImprovementIsTheIntegral(t *testing.T) {
	for _, c := range []struct{ mean, sd float64 }{{0, 1}, {-1, .5}, {-2, 2}, {2, .1}, {-4, 1}} {
		d := distuv.Normal{Mu: c.mean, Sigma: c.sd}
		want, step := 0.0, c.sd/1_000
		for x := step / 2; x < c.mean+10*c.sd; x += step {
			want += x * d.Prob(x) * step
		}
		if got := Improvement(c.mean, c.sd); math.Abs(got-want) > 1e-5 {
			t.Errorf("%+v: got %v, want %v", c, got, want)
		}
	}
	if got := Improvement(1, 0); got != 1 {
		t.Errorf("without doubt: %v", got)
	}
}
