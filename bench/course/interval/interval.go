package interval

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Ratio is how many times as large one side is as the other: the geometric mean over pairs, and the interval
// that holds the true one in 95 of 100 repetitions. With fewer than two pairs nobody knows: Low is 0 and High
// infinite.
type Ratio struct {
	Mean, Low, High float64
	Pairs           int
}

// Of compares pairs of one side and the other, of the same round and seed each. Pairs in which either is not
// positive and finite are left out.
//
// It is Student's interval (The probable error of a mean, Biometrika 6, 1908) for the mean of the logarithms of
// the ratios. Pairing removes what both sides of a round share, the state of the machine and the arrivals; the
// logarithm makes twice and half the same distance. The bootstrap was not taken: with three to ten rounds its
// intervals are too narrow (Hesterberg, What Teachers Should Know About the Bootstrap, 2015, section 4).
func Of(pairs [][2]float64) Ratio {
	var logs []float64
	for _, p := range pairs {
		if l := math.Log(p[0] / p[1]); p[0] > 0 && p[1] > 0 && !math.IsInf(l, 0) && !math.IsNaN(l) {
			logs = append(logs, l)
		}
	}
	if len(logs) == 0 {
		return Ratio{Mean: math.NaN(), High: math.Inf(1)}
	}
	mean, half := student(logs)
	return Ratio{Mean: math.Exp(mean), Low: math.Exp(mean - half), High: math.Exp(mean + half), Pairs: len(logs)}
}

// student is the mean of some values and half the width of its 95 % interval.
func student(values []float64) (mean, half float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	if n < 2 {
		return mean, math.Inf(1)
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
	return mean, t * math.Sqrt(squares/(n-1)/n)
}
