package natural

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"ringmaster/megakernel/tuner/reference"
)

// fixture is a policy over n candidates of which some were measured often.
func fixture(n int, seed uint64) (policy []uint32, samples []float64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	costs := make([]float64, n)
	samples = make([]float64, n)
	for i := range costs {
		costs[i] = 1 + 3*rng.Float64()
		samples[i] = float64(rng.IntN(5))
	}
	policy, err := Host{}.Softmax(Exponentials(costs, .3))
	if err != nil {
		panic(err)
	}
	return policy, samples
}

func TestBestCandidateHasTheLargestShareOfThePolicy(t *testing.T) {
	policy, err := Host{}.Softmax(Exponentials([]float64{3, 1, 2, math.Inf(1), math.NaN()}, 1))
	if err != nil {
		t.Fatal(err)
	}
	sum := 1 + math.Exp(-1) + math.Exp(-2)
	for i, want := range []float64{math.Exp(-2) / sum, 1 / sum, math.Exp(-1) / sum, 0, 0} {
		if got := float64(policy[i]) / One; math.Abs(got-want) > 2.0/One {
			t.Errorf("candidate %d has %v, want %v", i, got, want)
		}
	}
}

func TestSoftmaxEqualsTheOriginalsIntention(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOfN(rapid.Uint32(), 1, 300).Draw(t, "exponentials")
		got, err := Host{}.Softmax(in)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range reference.SoftmaxQ16(in) {
			if got[i] != want {
				t.Fatalf("candidate %d: %d, want %d", i, got[i], want)
			}
		}
	})
}

func TestDenseProductOfAnUnsignedRootEqualsTheOriginals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 40
	d := &Dense{N: n, Cells: make([]int32, n*n)}
	cells, g := make([]uint32, n*n), make([]uint32, n)
	for i := range cells {
		cells[i] = rng.Uint32N(8 * One)
		d.Cells[i] = int32(cells[i])
	}
	for i := range g {
		g[i] = rng.Uint32N(One + 1)
	}
	got, err := Host{}.Precondition(d, g)
	if err != nil {
		t.Fatal(err)
	}
	want, err := reference.Precondition(cells, g)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("row %d: %d, want %d", i, got[i], want[i])
		}
	}
}

// TestRootIsTheInverseSquareRootOfTheFisherMatrix has gonum's eigenvalues as
// its oracle, on the matrix as its definition has it.
func TestRootIsTheInverseSquareRootOfTheFisherMatrix(t *testing.T) {
	for _, damping := range []float64{.002, .02, 1} {
		const n = 48
		policy, samples := fixture(n, 3)
		f, err := NewFisher(policy, samples, damping)
		if err != nil {
			t.Fatal(err)
		}
		want := oracleRoot(policy, samples, damping)
		root := f.Root().(*Dense)
		for r := range n {
			for c := range n {
				if got := float64(root.Cells[r*n+c]) / One; math.Abs(got-want.At(r, c)) > 1.0/One {
					t.Fatalf("damping %v: cell (%d, %d) is %v, want %v", damping, r, c, got, want.At(r, c))
				}
			}
		}
	}
}

func oracleRoot(policy []uint32, samples []float64, damping float64) *mat.Dense {
	n := len(policy)
	mass, total := 0.0, 0.0
	for i, p := range policy {
		mass, total = mass+float64(p), total+samples[i]
	}
	f := mat.NewSymDense(n, nil)
	for i := range n {
		for a := range n {
			for b := a; b < n; b++ {
				f.SetSym(a, b, f.At(a, b)+samples[i]/total*(unit(i, a)-float64(policy[a])/mass)*(unit(i, b)-float64(policy[b])/mass))
			}
		}
	}
	for a := range n {
		f.SetSym(a, a, f.At(a, a)+damping)
	}
	var e mat.EigenSym
	if !e.Factorize(f, true) {
		panic("no eigenvalues")
	}
	var v mat.Dense
	e.VectorsTo(&v)
	scaled := mat.DenseCopyOf(&v)
	for c, x := range e.Values(nil) {
		for r := range n {
			scaled.Set(r, c, v.At(r, c)/math.Sqrt(x))
		}
	}
	var root mat.Dense
	root.Mul(scaled, v.T())
	return &root
}

func unit(i, j int) float64 {
	if i == j {
		return 1
	}
	return 0
}

func TestLowRankRootIsTheSameOperatorAsTheDenseOne(t *testing.T) {
	const n = 1500
	policy, samples := fixture(n, 5)
	f, err := NewFisher(policy, samples, .02)
	if err != nil {
		t.Fatal(err)
	}
	diagonal, terms := f.resolvents()
	dense, err := Host{}.Precondition(roundDense(diagonal, terms), policy)
	if err != nil {
		t.Fatal(err)
	}
	low, err := Host{}.Precondition(roundLowRank(diagonal, terms), policy)
	if err != nil {
		t.Fatal(err)
	}
	var worst, norm float64
	for i := range dense {
		worst = max(worst, math.Abs(float64(dense[i])-float64(low[i])))
		norm = max(norm, float64(dense[i]))
	}
	// Both round down once a product: the dense row n times, the terms 2 × 24 times.
	if worst > n+48 || norm < 100 {
		t.Fatalf("results differ by up to %v of %v", worst, norm)
	}
}

func TestFewSamplesMakeALongerStep(t *testing.T) {
	policy := []uint32{One * 3 / 8, One * 3 / 8, One / 8, One / 8}
	f, err := NewFisher(policy, []float64{10, 1, 5, 5}, .02)
	if err != nil {
		t.Fatal(err)
	}
	step, err := Host{}.Precondition(f.Root(), policy)
	if err != nil {
		t.Fatal(err)
	}
	if step[1] <= step[0] {
		t.Fatalf("steps are %v: the candidate with few samples is not ahead", step)
	}
}

func TestImpossibleStepsAreRefused(t *testing.T) {
	for name, fn := range map[string]func() error{
		"no candidates": func() error { _, err := Host{}.Softmax(nil); return err },
		"other length": func() error {
			_, err := Host{}.Precondition(&Dense{2, make([]int32, 4)}, make([]uint32, 3))
			return err
		},
		"too few cells": func() error {
			_, err := Host{}.Precondition(&Dense{3, make([]int32, 8)}, make([]uint32, 3))
			return err
		},
		"policy above one": func() error {
			_, err := Host{}.Precondition(&Dense{1, make([]int32, 1)}, []uint32{One + 1})
			return err
		},
		"term of other size":  func() error { return (&LowRank{make([]int32, 3), []Term{{false, make([]int32, 2)}}}).Check() },
		"too many terms":      func() error { return (&LowRank{nil, make([]Term, MaxTerms+1)}).Check() },
		"damping of zero":     func() error { _, err := NewFisher([]uint32{One}, []float64{1}, 0); return err },
		"damping no number":   func() error { _, err := NewFisher([]uint32{One}, []float64{1}, math.NaN()); return err },
		"negative samples":    func() error { _, err := NewFisher([]uint32{One}, []float64{-1}, 1); return err },
		"samples of another":  func() error { _, err := NewFisher([]uint32{One}, nil, 1); return err },
		"samples beyond all":  func() error { _, err := NewFisher([]uint32{One}, []float64{math.Inf(1)}, 1); return err },
		"too many candidates": func() error { _, err := Host{}.Softmax(make([]uint32, MaxCandidates+1)); return err },
	} {
		if fn() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestFisherOfAPolicyWithoutSamplesIsThePolicysOwn(t *testing.T) {
	policy, _ := fixture(20, 9)
	own := make([]float64, len(policy))
	for i, p := range policy {
		own[i] = float64(p)
	}
	with, err := NewFisher(policy, own, .02)
	if err != nil {
		t.Fatal(err)
	}
	without, err := NewFisher(policy, make([]float64, len(policy)), .02)
	if err != nil {
		t.Fatal(err)
	}
	a, b := with.Root().(*Dense), without.Root().(*Dense)
	for i := range a.Cells {
		if a.Cells[i] != b.Cells[i] {
			t.Fatalf("cell %d is %d and %d", i, a.Cells[i], b.Cells[i])
		}
	}
}
