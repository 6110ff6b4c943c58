package tuner

import "testing"

func TestSteepestIsTheCheapestAndOfEqualOnesTheRarelyMeasured(t *testing.T) {
	for name, c := range map[string]struct {
		costs, samples []float64
		want           int
	}{
		"the cheapest":        {[]float64{12, 8, 10}, []float64{3, 3, 3}, 1},
		"the rarely measured": {[]float64{100, 100, 130}, []float64{2, 20, 20}, 0},
		"the last of equals":  {[]float64{5, 5}, []float64{3, 3}, 1},
		"one":                 {[]float64{5}, []float64{1}, 0},
	} {
		if got := Steepest(c.costs, c.samples, c.costs[c.want]/10); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
