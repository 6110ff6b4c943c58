package tuner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// damping of the Fisher matrix, which is singular along (1, ..., 1).
const damping = .02

// Steepest is the candidate with the largest natural gradient of the softmax policy p over costs,
// the last on ties as in the original: the largest element of F^-½ p, where
//
//	F = Σ_i s_i (e_i - p)(e_i - p)ᵀ + damping·I
//
// is the damped Fisher information of the policy and s_i the share of the samples that went to
// candidate i (Amari, "Natural gradient works efficiently in learning", Neural Computation 10,
// 1998). A candidate with few samples gets a longer step. Costs and the temperature have one unit;
// all are above 0. There is a candidate, and each has a sample at least.
func Steepest(costs, samples []float64, temperature float64) (candidate int) {
	n := len(costs)
	least, sum, total := slices.Min(costs), 0.0, 0.0
	policy := mat.NewVecDense(n, nil)
	for i, c := range costs {
		policy.SetVec(i, math.Exp((least-c)/temperature))
		sum, total = sum+policy.AtVec(i), total+samples[i]
	}
	policy.ScaleVec(1/sum, policy)
	fisher := mat.NewSymDense(n, nil)
	for i := range costs {
		var off mat.VecDense
		off.ScaleVec(-1, policy)
		off.SetVec(i, 1-policy.AtVec(i))
		fisher.SymRankOne(fisher, samples[i]/total, &off)
	}
	for i := range costs {
		fisher.SetSym(i, i, fisher.At(i, i)+damping)
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(fisher, true) {
		return slices.Index(costs, least)
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	var gradient mat.VecDense
	gradient.MulVec(vectors.T(), policy)
	for i, value := range eigen.Values(nil) {
		gradient.SetVec(i, gradient.AtVec(i)/math.Sqrt(value))
	}
	gradient.MulVec(&vectors, &gradient)
	const tie = 1e-9 // apart by rounding only
	for i := range costs {
		if gradient.AtVec(i) >= gradient.AtVec(candidate)-tie {
			candidate = i
		}
	}
	return candidate
}
