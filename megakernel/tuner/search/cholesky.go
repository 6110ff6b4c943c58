package search

import "math"

// factor is the lower Cholesky factor of a symmetric positive definite matrix
// that grows by one row and column at a time.
type factor struct {
	rows [][]float64 // row i has i+1 elements
}

func (f *factor) reset() { f.rows = f.rows[:0] }

func (f *factor) n() int { return len(f.rows) }

// extend adds a row: the covariances with the rows before, then its own variance.
// A pivot that rounding made too small is raised to least.
func (f *factor) extend(row []float64, least float64) {
	n := len(f.rows)
	var l []float64
	if cap(f.rows) > n {
		l = f.rows[:n+1][n]
	}
	if cap(l) < n+1 {
		l = make([]float64, n+1, 2*n+8)
	}
	l = l[:n+1]
	pivot := row[n]
	for i := range n {
		li := f.rows[i]
		x := (row[i] - dot(li[:i], l[:i])) / li[i]
		l[i] = x
		pivot -= x * x
	}
	l[n] = math.Sqrt(max(pivot, least))
	f.rows = append(f.rows, l)
}

// forward solves L x = b in place.
func (f *factor) forward(b []float64) {
	for i, l := range f.rows {
		b[i] = (b[i] - dot(l[:i], b[:i])) / l[i]
	}
}

// backward solves Lᵀ x = b in place.
func (f *factor) backward(b []float64) {
	for i := len(f.rows) - 1; i >= 0; i-- {
		l := f.rows[i]
		b[i] /= l[i]
		for j, v := range l[:i] {
			b[j] -= v * b[i]
		}
	}
}

// logDet is the logarithm of the determinant of the matrix, not of the factor.
func (f *factor) logDet() (sum float64) {
	for i, l := range f.rows {
		sum += math.Log(l[i])
	}
	return 2 * sum
}

// dot sums in four strands, so that an addition need not wait for the one before.
func dot(a, b []float64) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}
