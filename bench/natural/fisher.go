package natural

import (
	"errors"
	"fmt"
	"math"
)

// ErrFisher says that no Fisher matrix can be estimated from the inputs.
var ErrFisher = errors.New("no Fisher matrix")

// Fisher is the estimated Fisher information of a softmax policy p, damped:
//
//	F = Σ_i s_i (e_i - p)(e_i - p)ᵀ + damping·I
//	  = diag(s + damping) + (p - s)(p - s)ᵀ - s·sᵀ
//
// where s_i is the share of the samples that went to candidate i (Amari,
// "Natural gradient works efficiently in learning", Neural Computation 10,
// 1998). The second form, a diagonal and two vectors, is what makes its
// inverse square root cheap at any size.
type Fisher struct {
	diagonal []float64 // s + damping
	x, y     []float64 // p - s, s
	lo, hi   float64   // all eigenvalues lie between
}

// NewFisher estimates the matrix for a policy in Q16 from the number of samples of
// each candidate. Without samples the policy's own shares are used. The
// damping must be above 0; it bounds the length of a step towards a candidate that was
// hardly measured.
func NewFisher(policy []uint32, samples []float64, damping float64) (*Fisher, error) {
	n := len(policy)
	if err := checkLen(n); err != nil {
		return nil, err
	}
	if len(samples) != n || !(damping > 0) || math.IsInf(damping, 1) {
		return nil, fmt.Errorf("%d sample counts for %d candidates, damping %v: %w", len(samples), n, damping, ErrFisher)
	}
	mass, total := 0.0, 0.0
	for i, s := range samples {
		if !(s >= 0) || math.IsInf(s, 1) {
			return nil, fmt.Errorf("%v samples of candidate %d: %w", s, i, ErrFisher)
		}
		mass, total = mass+float64(policy[i]), total+s
	}
	f := &Fisher{diagonal: make([]float64, n), x: make([]float64, n), y: make([]float64, n), lo: damping}
	largest, xx := 0.0, 0.0
	for i := range n {
		p := float64(policy[i]) / math.Max(mass, 1)
		s := p
		if total > 0 {
			s = samples[i] / total
		}
		f.diagonal[i], f.x[i], f.y[i] = s+damping, p-s, s
		largest, xx = math.Max(largest, s), xx+(p-s)*(p-s)
	}
	f.hi = damping + largest + xx
	return f, nil
}

// nodes of the quadrature. Its error falls as exp(-4·nodes/(hi/lo)^¼) and is below
// the rounding of Q16 up to a condition number of a thousand.
const nodes = 12

// Terms is the number of terms a low-rank root has at most, two for each node.
const Terms = 2 * nodes

// Root is the inverse square root of the matrix: a [Dense] up to MaxDense
// candidates, which takes a time of the order of N², and a [LowRank] beyond, which
// takes one of the order of N.
//
// F^-½ = 2/π ∫₀^∞ (F + t²I)⁻¹ dt. With t = (lo·hi)^¼·tan θ the integrand is
// periodic and the midpoint rule converges geometrically (Hale, Higham and
// Trefethen, "Computing A^α, log(A), and related matrix functions by contour
// integrals", SIAM J. Numer. Anal. 46, 2008). By Woodbury's formula each resolvent
// is a diagonal and two vectors.
func (f *Fisher) Root() Root {
	diagonal, terms := f.resolvents()
	if len(diagonal) > MaxDense {
		return roundLowRank(diagonal, terms)
	}
	return roundDense(diagonal, terms)
}

// term is sign · v·vᵀ.
type term struct {
	sign   float64
	vector []float64
}

func (f *Fisher) resolvents() (diagonal []float64, terms []term) {
	diagonal = make([]float64, len(f.diagonal))
	c := math.Sqrt(math.Sqrt(f.lo * f.hi))
	for j := range nodes {
		sin, cos := math.Sincos((float64(j) + .5) * math.Pi / (2 * nodes))
		terms = append(terms, f.resolvent(diagonal, cos*cos, c*c*sin*sin, c/nodes)...)
	}
	return diagonal, terms
}

// resolvent adds weight·(a·F + b·I)⁻¹: its diagonal part to sum, the rest as terms.
func (f *Fisher) resolvent(sum []float64, a, b, weight float64) []term {
	n := len(sum)
	u, v := make([]float64, n), make([]float64, n) // E⁻¹x, E⁻¹y, E = a·diagonal + b
	var xx, xy, yy float64
	for i := range n {
		e := 1 / (a*f.diagonal[i] + b)
		sum[i] += weight * e
		u[i], v[i] = e*f.x[i], e*f.y[i]
		xx, xy, yy = xx+u[i]*f.x[i], xy+u[i]*f.y[i], yy+v[i]*f.y[i]
	}
	// Woodbury: the correction is -weight·[u v]·K⁻¹·[u v]ᵀ with
	// K = diag(1, -1)/a + [x y]ᵀE⁻¹[x y].
	k11, k12, k22 := 1/a+xx, xy, yy-1/a
	det := k11*k22 - k12*k12 // below 0: F is positive definite
	scale := -weight / det
	return split(u, v, scale*k22, -scale*k12, scale*k11)
}

// split writes p·uuᵀ + q·(uvᵀ + vuᵀ) + r·vvᵀ as two signed squares, by the
// eigenvectors of the 2 by 2 core.
func split(u, v []float64, p, q, r float64) []term {
	theta := .5 * math.Atan2(2*q, p-r)
	sin, cos := math.Sincos(theta)
	core := [2]struct{ value, a, b float64 }{
		{p*cos*cos + 2*q*cos*sin + r*sin*sin, cos, sin},
		{p*sin*sin - 2*q*cos*sin + r*cos*cos, -sin, cos},
	}
	var out []term
	for _, e := range core {
		if e.value == 0 {
			continue
		}
		root, w := math.Sqrt(math.Abs(e.value)), make([]float64, len(u))
		for i := range w {
			w[i] = root * (e.a*u[i] + e.b*v[i])
		}
		out = append(out, term{math.Copysign(1, e.value), w})
	}
	return out
}

func roundDense(diagonal []float64, terms []term) *Dense {
	n := len(diagonal)
	d := &Dense{N: n, Cells: make([]int32, n*n)}
	row := make([]float64, n)
	for r := range n {
		clear(row)
		row[r] = diagonal[r]
		for _, t := range terms {
			f := t.sign * t.vector[r]
			for c := range r + 1 {
				row[c] += f * t.vector[c]
			}
		}
		for c := range r + 1 {
			cell := toQ16(row[c])
			d.Cells[r*n+c], d.Cells[c*n+r] = cell, cell
		}
	}
	return d
}

func roundLowRank(diagonal []float64, terms []term) *LowRank {
	l := &LowRank{Diagonal: make([]int32, len(diagonal))}
	for i, d := range diagonal {
		l.Diagonal[i] = toQ16(d)
	}
	for _, t := range terms {
		v, any := make([]int32, len(t.vector)), false
		for i, x := range t.vector {
			v[i] = toQ16(x)
			any = any || v[i] != 0
		}
		if any {
			l.Terms = append(l.Terms, Term{t.sign < 0, v})
		}
	}
	return l
}

// toQ16 rounds to Q16 and saturates; NaN becomes 0.
func toQ16(x float64) int32 {
	q := math.Round(x * One)
	if math.IsNaN(q) {
		return 0
	}
	return int32(min(max(q, math.MinInt32), math.MaxInt32))
}
