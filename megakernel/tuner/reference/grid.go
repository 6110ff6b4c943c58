package reference

import (
	"fmt"
	"math"
)

// InferGrid covers elements, at least one, with workgroups: along x only, or as a
// square or a cube of elements if the workgroup has two or three axes.
func InferGrid(elements uint32, w Workgroup) ([3]uint32, error) {
	if w[0] == 0 || w[1] == 0 || w[2] == 0 {
		return [3]uint32{}, fmt.Errorf("workgroup %v: %w", w, ErrZeroAxis)
	}
	n := uint64(max(elements, 1))
	over := func(a uint64, b uint32) uint32 { return uint32((a + uint64(b) - 1) / uint64(b)) }
	switch {
	case w[1] == 1 && w[2] == 1:
		return [3]uint32{over(n, w[0]), 1, 1}, nil
	case w[2] == 1:
		side := rootCeil(n, 2)
		return [3]uint32{over(side, w[0]), over((n+side-1)/side, w[1]), 1}, nil
	}
	side := rootCeil(n, 3)
	return [3]uint32{over(side, w[0]), over(side, w[1]), over((n+side*side-1)/(side*side), w[2])}, nil
}

// rootCeil is the smallest r whose power of the given exponent, 2 or 3, is at least
// n. n is below 2^32.
func rootCeil(n uint64, power int) uint64 {
	low, high := uint64(1), uint64(1)<<16
	for low < high {
		middle := (low + high) / 2
		p := middle * middle
		if power == 3 {
			p *= middle
		}
		if p >= n {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// Validate checks a geometry against a device's limits, in the original's order.
func Validate(w Workgroup, grid [3]uint32, l Limits) error {
	for i := range w {
		if w[i] == 0 || grid[i] == 0 {
			return fmt.Errorf("workgroup %v, grid %v: %w", w, grid, ErrZeroAxis)
		}
	}
	// Two axes fit 64 bits; a third does only if they fit 32.
	threads := uint64(w[0]) * uint64(w[1])
	if threads <= math.MaxUint32 {
		threads *= uint64(w[2])
	}
	if threads > math.MaxUint32 {
		return fmt.Errorf("workgroup %v: %w", w, ErrThreadsOverflow)
	}
	if threads > uint64(l.MaxThreads) {
		return fmt.Errorf("workgroup %v has %d invocations, at most %d: %w", w, threads, l.MaxThreads, ErrThreads)
	}
	for i := range w {
		if w[i] > l.MaxBlock[i] {
			return fmt.Errorf("workgroup %v, limits %v: %w", w, l.MaxBlock, ErrBlockAxis)
		}
	}
	for i := range grid {
		if grid[i] > l.MaxGrid[i] {
			return fmt.Errorf("grid %v, limits %v: %w", grid, l.MaxGrid, ErrGridAxis)
		}
	}
	return nil
}
