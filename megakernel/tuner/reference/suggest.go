package reference

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// Errors of Suggest.
var (
	// ErrNoMeasurements says that there is nothing to choose from.
	ErrNoMeasurements = errors.New("no measurements")
	// ErrTemperature says that the softmax temperature is zero.
	ErrTemperature = errors.New("temperature is zero")
	// ErrFisherShape says that the matrix is not square in the candidates.
	ErrFisherShape = errors.New("fisher matrix has the wrong number of cells")
)

// One is 1.0 in Q16.
const One = 1 << 16

// DefaultTemperatureNs is the softmax temperature of measured latencies.
const DefaultTemperatureNs = 10_000

// Workgroup is a workgroup size along x, y and z, in invocations.
type Workgroup [3]uint32

// Measurement is the latency of a launch with one workgroup size.
type Measurement struct {
	Workgroup Workgroup
	Ns        uint64
}

// Suggestion is the natural-gradient choice among measured sizes.
type Suggestion struct {
	Selected Workgroup // largest preconditioned weight, the last on ties
	Best     Workgroup // lowest latency, the first on ties
	BestNs   uint64
	Weights  []uint32 // softmax over -latency/temperature, Q16, sums to One exactly
	Gradient []uint32 // the weights preconditioned, Q16, saturated
}

// Suggest turns latencies into a softmax policy and preconditions it with the
// inverse square root of a Fisher matrix, row-major in Q16, one row for each
// measurement. The order of the checks is the original's.
func Suggest(temperatureNs uint64, measured []Measurement, fisher []uint32) (Suggestion, error) {
	n := len(measured)
	switch {
	case n == 0:
		return Suggestion{}, fmt.Errorf("suggest: %w", ErrNoMeasurements)
	case temperatureNs == 0:
		return Suggestion{}, fmt.Errorf("suggest: %w", ErrTemperature)
	case len(fisher) != n*n:
		return Suggestion{}, fmt.Errorf("suggest: %d cells for %d measurements: %w", len(fisher), n, ErrFisherShape)
	}
	best := Best(measured)
	s := Suggestion{
		Best: measured[best].Workgroup, BestNs: measured[best].Ns,
		Weights: softmax(measured, measured[best].Ns, temperatureNs),
	}
	s.Gradient = preconditionSaturating(fisher, s.Weights)
	selected := 0
	for i, g := range s.Gradient {
		if g >= s.Gradient[selected] {
			selected = i
		}
	}
	s.Selected = measured[selected].Workgroup
	return s, nil
}

// Best is the index of the lowest latency, the first on ties.
func Best(measured []Measurement) int {
	best := 0
	for i := range measured {
		if measured[i].Ns < measured[best].Ns {
			best = i
		}
	}
	return best
}

// softmax are the weights exp(-(t-best)/temperature) in Q16. Each is rounded
// half away from zero and limited to what is left of One; the last gets the
// remainder, with the rounding errors of all.
func softmax(measured []Measurement, bestNs, temperatureNs uint64) []uint32 {
	weights := make([]float64, len(measured))
	sum := 0.0
	for i := range measured {
		weights[i] = math.Exp(-(float64(measured[i].Ns-bestNs) / float64(temperatureNs)))
		sum += weights[i]
	}
	out := make([]uint32, len(measured))
	left := uint32(One)
	last := len(out) - 1
	for i := range out[:last] {
		q := uint32(math.Round(float64(weights[i]/sum) * One))
		out[i] = min(q, left)
		left -= out[i]
	}
	out[last] = left
	return out
}

// preconditionSaturating multiplies a matrix in Q16 by a vector in Q16, with
// sums that saturate.
func preconditionSaturating(matrix, vector []uint32) []uint32 {
	n := len(vector)
	out := make([]uint32, n)
	for r := range out {
		sum := uint64(0)
		for c, v := range vector {
			var carry uint64
			sum, carry = bits.Add64(sum, uint64(matrix[r*n+c])*uint64(v)>>16, 0)
			if carry != 0 {
				sum = math.MaxUint64
			}
		}
		out[r] = uint32(min(sum, math.MaxUint32))
	}
	return out
}

// Identity is the n by n identity matrix in Q16, with which Suggest takes the
// largest weight.
func Identity(n int) []uint32 {
	out := make([]uint32, n*n)
	for i := range n {
		out[i*n+i] = One
	}
	return out
}
