package policy

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

var anySiblings = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Sibling {
	value := rapid.Float64Range(0, 1e9)
	coefficient := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, 1e-8, 1e-9, 1e-10, 5e-324}))
	return Sibling{Priority: value.Draw(t, "priority"), Coefficient: coefficient.Draw(t, "coefficient"), Spread: value.Draw(t, "spread")}
}), 1, 12)

// laplacian is that of the siblings' weights, with the bound of its eigenvalues.
func laplacian(siblings []Sibling) (l *mat.SymDense, bound float64) {
	n := len(siblings)
	l = mat.NewSymDense(n, nil)
	largest, sum := 0.0, 0.0
	for i := range n {
		if !siblings[i].shares() {
			continue
		}
		largest, sum = max(largest, siblings[i].Coefficient), sum+siblings[i].Coefficient
		for j := range i {
			if siblings[j].shares() {
				w := siblings[i].Coefficient * siblings[j].Coefficient
				l.SetSym(i, j, -w)
				l.SetSym(i, i, l.At(i, i)+w)
				l.SetSym(j, j, l.At(j, j)+w)
			}
		}
	}
	return l, largest * sum
}

// TestDiffuseEqualsTheLaplacian compares with the definition: the n by n matrix
// I - eta/bound * L, applied to what is drawn half way back.
func TestDiffuseEqualsTheLaplacian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		siblings := anySiblings.Draw(t, "siblings")
		want := mat.NewVecDense(len(siblings), nil)
		for i := range siblings {
			want.SetVec(i, siblings[i].Spread/2+siblings[i].Priority/2)
		}
		if l, bound := laplacian(siblings); bound > 0 {
			var flow mat.VecDense
			flow.MulVec(l, want)
			want.AddScaledVec(want, -diffusionEta/bound, &flow)
		}
		Diffuse(siblings)
		for i, s := range siblings {
			w := want.AtVec(i)
			if !s.shares() {
				w = s.Priority
			}
			if math.Abs(s.Spread-w) > 1e-3 { // values reach 1e9
				t.Fatalf("value %d: got %v, want %v", i, s.Spread, w)
			}
		}
	})
}

func TestDiffuseMovesSiblingsTowardsEachOther(t *testing.T) {
	s := []Sibling{{10, 1, 10}, {0, 1, 0}, {7, 0, 3}}
	if moves := Diffuse(s); !moves || s[0].Spread != 7.5 || s[1].Spread != 2.5 || s[2].Spread != 7 {
		t.Errorf("got %+v, %v, want 7.5, 2.5 and the priority of who shares nothing", s, moves)
	}
}

// Two siblings keep their order, however freely they share and for however long.
func TestTwoSiblingsKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(0, 1e6).Draw(t, "low")
		high := low + rapid.Float64Range(1, 1e6).Draw(t, "more")
		share := rapid.Float64Range(0, 1)
		s := []Sibling{{low, share.Draw(t, "a"), low}, {high, share.Draw(t, "b"), high}}
		for range 200 {
			if Diffuse(s); s[0].Spread >= s[1].Spread {
				t.Fatalf("%+v", s)
			}
		}
	})
}

// Turns on priorities that stay converge and say so, keep the sum, stay within the range, and
// forget where they began.
func TestDiffuseConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := anySiblings.Draw(t, "siblings")
		other := append([]Sibling(nil), one...)
		sum, lo, hi := 0.0, math.Inf(1), math.Inf(-1)
		for i := range one {
			p := one[i].Priority
			one[i].Spread, sum, lo, hi = p, sum+p, min(lo, p), max(hi, p)
		}
		for range 100 {
			Diffuse(one)
			Diffuse(other)
		}
		if Diffuse(one) {
			t.Error("it still moves after 100 turns")
		}
		for i := range one {
			sum -= one[i].Spread
			if math.Abs(one[i].Spread-other[i].Spread) > 1e-3 { // values reach 1e9
				t.Fatalf("value %d: %v and %v", i, one[i].Spread, other[i].Spread)
			}
			if one[i].Spread < lo || one[i].Spread > hi {
				t.Fatalf("value %d is %v, outside %v..%v", i, one[i].Spread, lo, hi)
			}
		}
		if math.Abs(sum) > 1e-3 {
			t.Fatalf("the sum moved by %v", sum)
		}
	})
}
