package reference

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func floats(in []f64) []float64 {
	out := make([]float64, len(in))
	for i, f := range in {
		out[i] = float64(f)
	}
	return out
}

// difference compares bit for bit, except that every NaN equals every other:
// the vectors do not record NaN payloads of results.
func difference(got []float64, want []f64) string {
	if len(got) != len(want) {
		return fmt.Sprintf("got %d values, want %d", len(got), len(want))
	}
	for i, w := range floats(want) {
		if math.IsNaN(got[i]) && math.IsNaN(w) {
			continue
		}
		if math.Float64bits(got[i]) != math.Float64bits(w) {
			return fmt.Sprintf("value %d: got %v, want %v", i, got[i], w)
		}
	}
	return ""
}

func TestDiffuseDiagonalReproducesTheOriginal(t *testing.T) {
	type vector struct {
		In struct {
			Stalks, Restriction []f64
			Damping             f64
			Iterations          uint32
		}
		Out struct{ Values []f64 }
	}
	eachVector(t, "diffusion.jsonl.gz", func(t *testing.T, v *vector) string {
		in := &v.In
		return difference(DiffuseDiagonal(floats(in.Stalks), floats(in.Restriction), float64(in.Damping), in.Iterations), v.Out.Values)
	})
}

func TestPickCheapestReproducesTheOriginal(t *testing.T) {
	type vector struct {
		In struct {
			Candidates []uint32
			CostBits   []string `json:"cost_bits"`
			Fallback   uint32
		}
		Out uint32
	}
	eachVector(t, "autotune_pick.jsonl.gz", func(t *testing.T, v *vector) string {
		costs := make([]float64, len(v.In.CostBits))
		for i, s := range v.In.CostBits {
			b, err := strconv.ParseUint(s, 16, 64)
			if err != nil {
				return err.Error()
			}
			costs[i] = math.Float64frombits(b)
		}
		if got := PickCheapest(v.In.Candidates, costs, v.In.Fallback); got != v.Out {
			return fmt.Sprintf("got %d, want %d", got, v.Out)
		}
		return ""
	})
}

func TestNaturalStepReproducesTheOriginal(t *testing.T) {
	type vector struct {
		In struct {
			M    []f64 `json:"m_inv_sqrt"`
			Grad []f64
			N    int
			Rate f64 `json:"learning_rate"`
		}
		Out struct{ Delta []f64 }
	}
	eachVector(t, "natural_step.jsonl.gz", func(t *testing.T, v *vector) string {
		return difference(NaturalStep(floats(v.In.M), floats(v.In.Grad), v.In.N, float64(v.In.Rate)), v.Out.Delta)
	})
}

func TestCostGradientIsMinusTheSoftmaxAndSumsToMinusOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		costs := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 20).Draw(t, "costs")
		temperature := rapid.Float64Range(1e-3, 1e6).Draw(t, "temperature")
		gradient, sum := CostGradient(costs, temperature), 0.0
		for i, g := range gradient {
			sum += g
			if g > 0 || g < -1 || g != -SoftmaxCosts(costs, temperature)[i] {
				t.Fatalf("gradient %v", gradient)
			}
			for j := range i {
				if costs[i] < costs[j] && g > gradient[j] {
					t.Fatalf("cost %v has %v, cost %v has %v", costs[i], g, costs[j], gradient[j])
				}
			}
		}
		if math.Abs(sum+1) > 1e-12 {
			t.Fatalf("sum %v", sum)
		}
	})
	if got := CostGradient([]float64{3, 3}, 1); !slices.Equal(got, []float64{-0.5, -0.5}) {
		t.Errorf("equal costs: %v", got)
	}
	if got := CostGradient(nil, 1); len(got) != 0 {
		t.Errorf("no costs: %v", got)
	}
}
