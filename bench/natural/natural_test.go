package natural

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/tuner/reference"
)

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

func TestLowRankRootIsTheSameOperatorAsItsMatrix(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	const n = 100
	vector := func() []int32 {
		v := make([]int32, n)
		for i := range v {
			v[i] = rng.Int32N(One) - One/2
		}
		return v
	}
	low := &LowRank{Diagonal: vector(), Terms: []Term{{false, vector()}, {true, vector()}}}
	policy, want := make([]uint32, n), make([]float64, n)
	for i := range policy {
		policy[i] = rng.Uint32N(One + 1)
	}
	for r := range want {
		want[r] = float64(low.Diagonal[r]) / One * float64(policy[r])
		for c, g := range policy {
			a, b := low.Terms[0].Vector, low.Terms[1].Vector
			want[r] += (float64(a[r])*float64(a[c]) - float64(b[r])*float64(b[c])) / One / One * float64(g)
		}
	}
	got, err := Host{}.Precondition(low, policy)
	if err != nil {
		t.Fatal(err)
	}
	for r := range want {
		if w := max(want[r], 0); math.Abs(float64(got[r])-w) > 2*n { // each product is rounded down
			t.Errorf("row %d: %d, want %.0f", r, got[r], w)
		}
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
		"too many candidates": func() error { _, err := Host{}.Softmax(make([]uint32, MaxCandidates+1)); return err },
	} {
		if fn() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
