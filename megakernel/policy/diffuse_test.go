package policy

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

type diffusion struct {
	x, r       []float64
	eta        float64
	iterations int
}

var anyDiffusion = rapid.Custom(func(t *rapid.T) diffusion {
	n := rapid.IntRange(0, 12).Draw(t, "n")
	coefficient := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, 1e-8, 1e-9, 1e-10, 5e-324}))
	return diffusion{
		x:          rapid.SliceOfN(rapid.Float64Range(-1e9, 1e9), n, n).Draw(t, "x"),
		r:          rapid.SliceOfN(coefficient, n, n).Draw(t, "r"),
		eta:        rapid.Float64Range(0, 1).Draw(t, "eta"),
		iterations: rapid.IntRange(0, 20).Draw(t, "iterations"),
	}
})

func (d *diffusion) run(t interface{ Fatal(...any) }) []float64 {
	dst := make([]float64, len(d.x))
	if err := Diffuse(dst, d.x, d.r, d.eta, d.iterations); err != nil {
		t.Fatal(err)
	}
	return dst
}

// laplacian is that of the siblings' weights, with the bound of its eigenvalues.
func (d *diffusion) laplacian() (l *mat.SymDense, bound float64) {
	n := len(d.x)
	l = mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i {
			if d.r[i] >= minCoefficient && d.r[j] >= minCoefficient {
				w := d.r[i] * d.r[j]
				l.SetSym(i, j, -w)
				l.SetSym(i, i, l.At(i, i)+w)
				l.SetSym(j, j, l.At(j, j)+w)
			}
		}
	}
	largest, sum := 0.0, 0.0
	for _, w := range d.r {
		if w >= minCoefficient {
			largest, sum = max(largest, w), sum+w
		}
	}
	return l, largest * sum
}

// TestDiffuseEqualsTheLaplacian compares with the definition, the n by n
// matrix I - eta/bound * L applied once for each iteration.
func TestDiffuseEqualsTheLaplacian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDiffusion.Draw(t, "d")
		if len(d.x) == 0 {
			t.Skip("a matrix has rows")
		}
		got, want := d.run(t), mat.NewVecDense(len(d.x), append([]float64(nil), d.x...))
		l, bound := d.laplacian()
		for range d.iterations {
			var flow mat.VecDense
			flow.MulVec(l, want)
			if bound > 0 {
				want.AddScaledVec(want, -d.eta/bound, &flow)
			}
		}
		for i := range got {
			if math.Abs(got[i]-want.AtVec(i)) > 1e-3 { // values reach 1e9
				t.Fatalf("value %d: got %v, want %v", i, got[i], want.AtVec(i))
			}
		}
	})
}

// With equal coefficients all differences shrink by one factor, so the values
// converge to the mean of those that couple, and for good.
func TestDiffuseConvergesToTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 64).Draw(t, "n")
		d := diffusion{
			x:          rapid.SliceOfN(rapid.Float64Range(-1e9, 1e9), n, n).Draw(t, "x"),
			r:          make([]float64, n),
			eta:        rapid.Float64Range(0.1, 1).Draw(t, "eta"),
			iterations: 400,
		}
		r := rapid.Float64Range(minCoefficient, 1).Draw(t, "coefficient")
		mean := 0.0
		for i := range d.r {
			d.r[i] = r
			mean += d.x[i] / float64(n)
		}
		for i, v := range d.run(t) {
			if math.Abs(v-mean) > 1 { // 1e-9 of the range
				t.Fatalf("value %d is %v after %d iterations, the mean %v", i, v, d.iterations, mean)
			}
		}
	})
}

func TestDiffuseConservesTheSumAndTheRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDiffusion.Draw(t, "d")
		got := d.run(t)
		before, after, lo, hi := 0.0, 0.0, math.Inf(1), math.Inf(-1)
		for i, v := range d.x {
			before, after = before+v, after+got[i]
			lo, hi = min(lo, v), max(hi, v)
		}
		if math.Abs(before-after) > 1e-3 { // values reach 1e9
			t.Fatalf("sum %v became %v", before, after)
		}
		for i, v := range got {
			if v < lo || v > hi {
				t.Fatalf("value %d is %v, outside %v..%v", i, v, lo, hi)
			}
		}
	})
}

func TestDiffuseLeavesIsolatedValuesAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDiffusion.Draw(t, "d")
		for i, v := range d.run(t) {
			if d.r[i] < minCoefficient && v != d.x[i] {
				t.Fatalf("value %d moved from %v to %v", i, d.x[i], v)
			}
		}
	})
}

func TestDiffuseMovesSiblingsTowardsEachOther(t *testing.T) {
	x := []float64{10, 0, 7}
	if err := Diffuse(x, x, []float64{1, 1, 0}, 0.5, 1); err != nil {
		t.Fatal(err)
	}
	if x[0] != 7.5 || x[1] != 2.5 || x[2] != 7 {
		t.Errorf("got %v, want [7.5 2.5 7]", x)
	}
	y := []float64{9, 0, 0}
	if err := Diffuse(y, y, []float64{1, 1, 1}, 1, 1); err != nil {
		t.Fatal(err)
	}
	if y[0] != 3 || y[1] != 3 || y[2] != 3 {
		t.Errorf("got %v, want the mean", y)
	}
}

// Two siblings keep their order below eta = 1, however freely they share and for however
// long: in one diffusion and in one that goes on from launch to launch.
func TestTwoSiblingsKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Float64Range(0, 1)
		x := []float64{rapid.Float64Range(-1e6, 1e6).Draw(t, "low"), 0}
		x[1] = x[0] + rapid.Float64Range(1, 1e6).Draw(t, "more")
		r := []float64{share.Draw(t, "a"), share.Draw(t, "b")}
		eta := rapid.Float64Range(0, 0.9).Draw(t, "eta")
		got := make([]float64, 2)
		if err := Diffuse(got, x, r, eta, rapid.IntRange(0, 8).Draw(t, "iterations")); err != nil || got[0] >= got[1] {
			t.Fatalf("%v became %v, %v", x, got, err)
		}
		copy(got, x)
		for range 200 {
			if err := DiffuseOn(got, x, r, eta, 1); err != nil || got[0] >= got[1] {
				t.Fatalf("%v became %v, %v", x, got, err)
			}
		}
	})
}

// Turns on values that stay converge, keep the sum, and forget where they began.
func TestDiffuseOnConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDiffusion.Draw(t, "d")
		one, other := make([]float64, len(d.x)), make([]float64, len(d.x))
		for i := range other {
			other[i] = rapid.Float64Range(-1e9, 1e9).Draw(t, "state")
		}
		copy(one, d.x)
		for range 100 {
			if err := errors.Join(DiffuseOn(one, d.x, d.r, d.eta, d.iterations), DiffuseOn(other, d.x, d.r, d.eta, d.iterations)); err != nil {
				t.Fatal(err)
			}
		}
		sum := 0.0
		for i := range one {
			sum += one[i] - d.x[i]
			if math.Abs(one[i]-other[i]) > 1e-3 { // values reach 1e9
				t.Fatalf("value %d: %v and %v", i, one[i], other[i])
			}
		}
		if math.Abs(sum) > 1e-3 {
			t.Fatalf("the sum moved by %v", sum)
		}
	})
}

func TestDiffuseRefusesBadInput(t *testing.T) {
	one := []float64{1}
	for name, c := range map[string]struct {
		dst, x, r []float64
		eta       float64
		n         int
		want      error
	}{
		"coefficients missing":      {one, one, nil, 0.5, 1, ErrLength},
		"dst too short":             {nil, one, one, 0.5, 1, ErrLength},
		"eta above 1":               {one, one, one, 1.01, 1, ErrRange},
		"eta below 0":               {one, one, one, -0.01, 1, ErrRange},
		"eta NaN":                   {one, one, one, math.NaN(), 1, ErrRange},
		"negative iterations":       {one, one, one, 0.5, -1, ErrRange},
		"value NaN":                 {one, []float64{math.NaN()}, one, 0.5, 1, ErrRange},
		"value infinite":            {one, []float64{math.Inf(-1)}, one, 0.5, 1, ErrRange},
		"coefficient NaN":           {one, one, []float64{math.NaN()}, 0.5, 1, ErrRange},
		"coefficient negative":      {one, one, []float64{-0.1}, 0.5, 1, ErrRange},
		"coefficient larger than 1": {one, one, []float64{1.1}, 0.5, 1, ErrRange},
	} {
		if err := Diffuse(c.dst, c.x, c.r, c.eta, c.n); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if one[0] != 1 {
			t.Fatalf("%s: dst was written", name)
		}
	}
}
