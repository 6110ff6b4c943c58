package live

import "math"

// square is a symmetric matrix of which the first n rows and columns are used.
type square [Candidates][Candidates]float64

const (
	maxSweeps = 30
	// Eigenvalues below this fraction of the largest are raised to it: they are
	// nothing but rounding errors.
	eigenFloor = 1e-9
)

// eigen diagonalises a by cyclic Jacobi rotations (Golub and Van Loan, Matrix
// Computations, 8.5). a is left with its eigenvalues on the diagonal, v has the
// eigenvectors in its columns.
func eigen(a, v *square, n int) {
	for i := range n {
		for j := range n {
			v[i][j] = unit(i, j)
		}
	}
	for range maxSweeps {
		off, on := 0.0, 0.0
		for i := range n {
			on += a[i][i] * a[i][i]
			for j := range i {
				off += a[i][j] * a[i][j]
			}
		}
		if off <= 1e-30*on || off == 0 {
			return
		}
		for p := range n {
			for q := p + 1; q < n; q++ {
				rotate(a, v, n, p, q)
			}
		}
	}
}

func rotate(a, v *square, n, p, q int) {
	if a[p][q] == 0 {
		return
	}
	theta := (a[q][q] - a[p][p]) / (2 * a[p][q])
	t := math.Copysign(1, theta) / (math.Abs(theta) + math.Sqrt(theta*theta+1))
	c := 1 / math.Sqrt(t*t+1)
	s := t * c
	for k := range n {
		x, y := a[k][p], a[k][q]
		a[k][p], a[k][q] = c*x-s*y, s*x+c*y
	}
	for k := range n {
		x, y := a[p][k], a[q][k]
		a[p][k], a[q][k] = c*x-s*y, s*x+c*y
		x, y = v[k][p], v[k][q]
		v[k][p], v[k][q] = c*x-s*y, s*x+c*y
	}
}

// inverseRoot is the inverse square root of a symmetric matrix that is positive
// except for rounding. A matrix that is zero or not finite gives the identity, with
// which the choice is the original's.
func inverseRoot(to, m *square, n int) {
	a, v := *m, square{}
	eigen(&a, &v, n)
	largest, finite := 0.0, true
	for i := range n {
		largest = math.Max(largest, a[i][i])
		finite = finite && !math.IsNaN(a[i][i]) && !math.IsInf(a[i][i], 0)
	}
	if !finite || largest <= 0 {
		for i := range n {
			for j := range n {
				to[i][j] = unit(i, j)
			}
		}
		return
	}
	var inv [Candidates]float64
	for i := range n {
		inv[i] = 1 / math.Sqrt(math.Max(a[i][i], eigenFloor*largest))
	}
	for i := range n {
		for j := range n {
			sum := 0.0
			for k := range n {
				sum += v[i][k] * inv[k] * v[j][k]
			}
			to[i][j] = sum
		}
	}
}
