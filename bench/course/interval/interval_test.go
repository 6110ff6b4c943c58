package interval

import (
	"math"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6*math.Max(1, math.Abs(b)) }

// Student's own example, the additional hours of sleep by one drug over the other: R's
// t.test(extra ~ group, data = sleep, paired = TRUE) says 1.58 in 0.7001142 to 2.4598858.
func TestTheIntervalIsStudents(t *testing.T) {
	more := []float64{1.2, 2.4, 1.3, 1.3, 0, 1.0, 1.8, 0.8, 4.6, 1.4}
	mean, half := student(more)
	if !near(mean, 1.58) || !near(mean-half, 0.7001142) || !near(mean+half, 2.4598858) {
		t.Errorf("%v in %v to %v", mean, mean-half, mean+half)
	}
	var pairs [][2]float64
	for _, d := range more {
		pairs = append(pairs, [2]float64{3 * math.Exp(d), 3})
	}
	if r := Of(pairs); !near(r.Mean, math.Exp(1.58)) || !near(r.Low, math.Exp(0.7001142)) || !near(r.High, math.Exp(2.4598858)) || r.Pairs != 10 {
		t.Errorf("%+v", r)
	}
}

func TestWhatRoundsShareDoesNotWiden(t *testing.T) {
	r := Of([][2]float64{{2, 1}, {200, 100}, {0.2, 0.1}})
	if !near(r.Mean, 2) || !near(r.Low, 2) || !near(r.High, 2) {
		t.Errorf("%+v", r)
	}
}

func TestTooLittleToTell(t *testing.T) {
	if r := Of([][2]float64{{3, 1}}); !near(r.Mean, 3) || r.Low != 0 || !math.IsInf(r.High, 1) {
		t.Errorf("one pair: %+v", r)
	}
	if r := Of([][2]float64{{1, 0}, {math.NaN(), 1}, {math.Inf(1), 1}}); r.Pairs != 0 || !math.IsNaN(r.Mean) {
		t.Errorf("no pair that counts: %+v", r)
	}
}
