package gp

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Matern is the Matérn correlation of smoothness 5/2 at a distance of so many
// correlation lengths.
func Matern(lengths float64) float64 {
	r := lengths * math.Sqrt(5)
	return (1 + r + r*r/3) * math.Exp(-r)
}

// Improvement is the expected value of max(0, x) for a normal x: what a
// candidate gains whose advantage over the best has this mean and this standard
// deviation.
func Improvement(advantage, sd float64) float64 {
	if sd < 1e-12 {
		return math.Max(advantage, 0)
	}
	z := advantage / sd
	if z < -6 {
		return 0
	}
	return sd * (z*math.Erfc(-z/math.Sqrt2)/2 + math.Exp(-z*z/2)/math.Sqrt(2*math.Pi))
}

// Posterior is a process of mean zero after some observations, in the order in
// which they were added. The zero value has none.
type Posterior struct {
	factor mat.Cholesky
	n      int
	white  []float64 // L⁻¹ of the observed values
}

// Len is the number of observations.
func (p *Posterior) Len() int { return p.n }

// Condition begins anew: cov is the covariance of the observations, with their
// noise on its diagonal. ok is false if rounding left it without a factor.
func (p *Posterior) Condition(cov mat.Symmetric) (ok bool) {
	p.n = cov.SymmetricDim()
	return p.factor.Factorize(cov)
}

// Add adds an observation: its covariances with those before, and last its own
// variance with its noise. Where rounding leaves too little of the variance, the
// observation counts as noisier.
func (p *Posterior) Add(cov []float64) {
	if p.n++; p.n == 1 {
		p.factor.Factorize(mat.NewSymDense(1, []float64{cov[0]}))
		return
	}
	var next mat.Cholesky
	row := mat.NewVecDense(len(cov), cov)
	for !next.ExtendVecSym(&p.factor, row) {
		cov[len(cov)-1] *= 1.01
	}
	p.factor = next
}

// Observe sets the observed values, less their prior means.
func (p *Posterior) Observe(values []float64) {
	p.white = append(p.white[:0], values...)
	p.whiten(p.white)
}

// whiten replaces x by L⁻¹x.
func (p *Posterior) whiten(x []float64) {
	if p.n > 0 {
		blas64.Trsv(blas.Trans, p.upper(), blas64.Vector{N: p.n, Data: x, Inc: 1})
	}
}

func (p *Posterior) upper() blas64.Triangular {
	return p.factor.RawU().(mat.RawTriangular).RawTriangular()
}

// White are L⁻¹ of the observed values, L being the covariance's Cholesky factor.
func (p *Posterior) White() []float64 { return p.white }

// Row appends row i of the factor L, of which i+1 cells are not zero.
func (p *Posterior) Row(to []float64, i int) []float64 {
	u := p.upper()
	for k := range i + 1 {
		to = append(to, u.Data[k*u.Stride+i])
	}
	return to
}

// Predict gives the mean and the standard deviation of a quantity with these
// covariances with the observations, which it overwrites, and this variance
// before them.
func (p *Posterior) Predict(cov []float64, variance float64) (mean, sd float64) {
	p.whiten(cov)
	for i, c := range cov {
		mean += c * p.white[i]
		variance -= c * c
	}
	return mean, math.Sqrt(math.Max(variance, 0))
}

// LogDensity is the logarithm of the density of the observed values, up to a
// constant.
func (p *Posterior) LogDensity() float64 {
	sum := p.factor.LogDet()
	for _, w := range p.white {
		sum += w * w
	}
	return -sum / 2
}
