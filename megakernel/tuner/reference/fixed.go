package reference

import (
	"errors"
	"fmt"
)

// ErrShape says that a matrix and a vector do not belong together.
var ErrShape = errors.New("matrix and vector do not fit")

// SoftmaxWrapping normalises exponentials in Q16 as the original's device kernel
// does, in 32 bits that wrap: an input of 1.0 or more loses its integer part, so
// that the best candidate gets nothing. The original dispatches it from tests only; it
// is here for comparison.
func SoftmaxWrapping(exponentials []uint32) []uint32 {
	sum := uint32(0)
	for _, e := range exponentials {
		sum += e
	}
	sum = max(sum, 1)
	out := make([]uint32, len(exponentials))
	for i, e := range exponentials {
		out[i] = e << 16 / sum
	}
	return out
}

// SoftmaxQ16 normalises exponentials in Q16 with 64-bit intermediates, as the
// tests of the original expect: out = (in << 16) / sum, rounded down, and a
// sum of zero counts as one. Nothing but tests uses it in the original; it is the yardstick of
// bench/natural.
func SoftmaxQ16(exponentials []uint32) []uint32 {
	sum := uint64(0)
	for _, e := range exponentials {
		sum += uint64(e)
	}
	sum = max(sum, 1)
	out := make([]uint32, len(exponentials))
	for i, e := range exponentials {
		out[i] = uint32(uint64(e) << 16 / sum)
	}
	return out
}

// Precondition multiplies a row-major n by n matrix in Q16 by a gradient of n
// in Q16, each product shifted right by 16, with sums that wrap at 32 bits. Nothing but
// tests uses it in the original, whose tuner has the saturating form of [Suggest]; it is
// the yardstick of bench/natural.
func Precondition(matrix, gradient []uint32) ([]uint32, error) {
	n := len(gradient)
	if len(matrix) != n*n {
		return nil, fmt.Errorf("precondition: %d cells for %d values: %w", len(matrix), n, ErrShape)
	}
	out := make([]uint32, n)
	for r := range out {
		for c, g := range gradient {
			out[r] += uint32(uint64(matrix[r*n+c]) * uint64(g) >> 16)
		}
	}
	return out, nil
}
