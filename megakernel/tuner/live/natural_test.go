package live

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"ringmaster/megakernel/tuner/reference"
)

// original runs the reference on the same latencies and matrix.
func original(t *testing.T, in []Estimate, temperatureNs uint64, root []uint32) reference.Suggestion {
	t.Helper()
	measured := make([]reference.Measurement, len(in))
	for i := range in {
		measured[i] = reference.Measurement{Workgroup: reference.Workgroup{uint32(i), 1, 1}, Ns: uint64(in[i].Ns)}
	}
	s, err := reference.Suggest(temperatureNs, measured, root)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSuggestionIsTheOriginalsForTheSameMatrix(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	exact := 0
	for trial := range 2000 {
		n := 1 + random.IntN(Candidates)
		in := make([]Estimate, n)
		best := math.Inf(1)
		for i := range in {
			in[i] = Estimate{Ns: float64(5_000 + random.IntN(40_000)), Count: 3}
			best = min(best, in[i].Ns)
		}
		const temperature = 4096
		v := View{N: n}
		root := reference.Identity(n)
		if trial%2 == 1 {
			for i := range root {
				root[i] = random.Uint32() >> random.IntN(32)
			}
		}
		for i := range n {
			copy(v.Root[i][:], root[i*n:i*n+n])
		}
		got := v.Suggest(in, temperature/best)
		want := original(t, in, temperature, root)
		for i := range n {
			// The temperature is a fraction of the best, which rounds differently.
			if d := int64(v.Weights[i]) - int64(want.Weights[i]); d < -1 || d > 1 {
				t.Fatalf("trial %d: weights %v, want %v", trial, v.Weights[:n], want.Weights)
			}
		}
		same := true
		for i := range n {
			same = same && v.Weights[i] == want.Weights[i]
		}
		if same {
			exact++
		}
		if same && (uint32(got) != want.Selected[0] || uint32(v.Best) != want.Best[0]) {
			t.Fatalf("trial %d: selected %d, want %v", trial, got, want.Selected)
		}
	}
	if exact < 1990 {
		t.Errorf("%d of 2000 have the original's weights to the last bit", exact)
	}
}

func TestInverseRootAgreesWithGonum(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for trial := range 300 {
		n := 1 + random.IntN(Candidates)
		in := make([]Estimate, n)
		for i := range in {
			in[i] = Estimate{Ns: 1000 * (1 + 0.2*random.Float64()), Count: float64(1 + random.IntN(20))}
		}
		var v View
		v.Update(in, 0.1)
		var f, root square
		fisher(&f, v.Weights[:n], in)
		inverseRoot(&root, &f, n)
		dense := mat.NewSymDense(n, nil)
		for i := range n {
			for j := range i + 1 {
				dense.SetSym(i, j, f[i][j])
			}
		}
		var e mat.EigenSym
		if !e.Factorize(dense, true) {
			t.Fatal("gonum failed")
		}
		var q, out mat.Dense
		e.VectorsTo(&q)
		scale := mat.NewDiagDense(n, nil)
		for i, x := range e.Values(nil) {
			scale.SetDiag(i, 1/math.Sqrt(x))
		}
		out.Product(&q, scale, q.T())
		for i := range n {
			for j := range n {
				if math.Abs(out.At(i, j)-root[i][j]) > 1e-9*math.Abs(out.At(i, i)) {
					t.Fatalf("trial %d: [%d][%d] %v, gonum %v", trial, i, j, root[i][j], out.At(i, j))
				}
			}
		}
	}
}

func TestInverseRootSurvivesDegenerateMatrices(t *testing.T) {
	for name, m := range map[string]square{
		"zero":         {},
		"not a number": {{math.NaN(), 1}, {1, 1}},
		"infinite":     {{math.Inf(1), 0}, {0, 1}},
		"singular":     {{1, 1}, {1, 1}},
		"indefinite":   {{1, 2}, {2, 1}},
		"tiny":         {{1e-300, 0}, {0, 1e-300}},
	} {
		var root square
		inverseRoot(&root, &m, 2)
		for i := range 2 {
			for j := range 2 {
				if math.IsNaN(root[i][j]) || math.IsInf(root[i][j], 0) {
					t.Errorf("%s: %v", name, root[i][:2])
				}
			}
		}
	}
}

func TestEstimatesNeverOutrankMeasurements(t *testing.T) {
	in := []Estimate{{Ns: 1000, Count: 3}, {Ns: 10, Count: 0}, {Ns: 1200, Count: 3}, {Ns: 1, Count: 0}}
	var v View
	v.Update(in, 0.05)
	if v.Selected != 0 || v.Best != 0 || v.Weights[1] != 0 || v.Weights[3] != 0 {
		t.Errorf("selected %d, best %d, weights %v", v.Selected, v.Best, v.Weights[:4])
	}
	// A tuner never settles on a geometry that it did not run.
	l := load{65_536, 300, 8}
	for seed := range uint64(10) {
		u, _ := settled(t, &simulatedH200, l, seed)
		config, _ := u.space.Find(u.Next().Geometry)
		if a := u.find(int32(config)); a == nil || a.Count < 1 || a.Stale {
			t.Errorf("seed %d: settled on %+v, %+v", seed, u.Next().Geometry, a)
		}
	}
}

func TestRarelyMeasuredEqualIsPreferred(t *testing.T) {
	var v View
	v.Update([]Estimate{{Ns: 100, Count: 2}, {Ns: 100, Count: 20}, {Ns: 130, Count: 20}}, 0.1)
	if v.Selected != 0 {
		t.Errorf("selected %d, gradient %v", v.Selected, v.Gradient[:3])
	}
	sum := v.Weights[0] + v.Weights[1] + v.Weights[2]
	if sum != One {
		t.Errorf("weights sum to %d", sum)
	}
}
