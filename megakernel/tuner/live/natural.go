package live

import "math"

// Candidates is the most candidates that a View holds.
const Candidates = 7

// One is 1.0 in Q16.
const One = 1 << 16

// damping is added to the Fisher block, which is singular along (1, ..., 1).
const damping = 0.02

// Estimate is the measured time of a candidate.
type Estimate struct {
	Ns    float64 // of a slot, or of a launch
	Count float64 // launches; 0 excludes the candidate: it has no measurement
}

// View is a softmax policy over candidates with its natural gradient.
type View struct {
	N        int
	Selected int                            // largest gradient, the last on ties as in the original
	Best     int                            // shortest time, the first on ties
	Weights  [Candidates]uint32             // softmax of -time/temperature in Q16, sums to One
	Gradient [Candidates]uint32             // the weights preconditioned, Q16, saturated
	Root     [Candidates][Candidates]uint32 // inverse square root of the Fisher block, N by N, zero beyond, Q16
}

// Update estimates the Fisher block from the samples and makes the suggestion.
// The temperature is a fraction of the shortest time, above 0. Candidates
// beyond the seventh are left out.
//
// The block is the empirical one of the softmax policy p: the mean of
// (e_i - p)(e_i - p)ᵀ over the launches, of which a share went to candidate i
// (Amari, Neural Computation 10, 1998). Rarely measured candidates have little
// curvature and so get a longer step.
func (v *View) Update(in []Estimate, temperature float64) {
	n := min(len(in), Candidates)
	v.N = n
	v.weigh(in[:n], temperature)
	var f, root square
	fisher(&f, v.Weights[:n], in[:n])
	inverseRoot(&root, &f, n)
	v.Root = [Candidates][Candidates]uint32{}
	for i := range n {
		for j := range n {
			v.Root[i][j] = toQ16(root[i][j])
		}
	}
	v.precondition(in[:n])
}

// Suggest renews weights and gradient for new times, with the block of the
// last Update.
func (v *View) Suggest(in []Estimate, temperature float64) int {
	v.weigh(in[:v.N], temperature)
	v.precondition(in[:v.N])
	return v.Selected
}

// weigh computes the weights as the original does: rounded half away from
// zero, limited to what is left of One, the remainder to the last candidate
// with a measurement.
func (v *View) weigh(in []Estimate, temperature float64) {
	v.Weights = [Candidates]uint32{}
	v.Best = -1
	last := 0
	for i := range in {
		if in[i].Count > 0 {
			if v.Best < 0 || in[i].Ns < in[v.Best].Ns {
				v.Best = i
			}
			last = i
		}
	}
	if v.Best < 0 {
		v.Best = 0
		return
	}
	best := in[v.Best].Ns
	scale := best * temperature
	var w [Candidates]float64
	sum := 0.0
	for i := range in {
		if in[i].Count > 0 {
			if w[i] = 1; i != v.Best {
				w[i] = math.Exp(-((in[i].Ns - best) / scale))
			}
			sum += w[i]
		}
	}
	left := uint32(One)
	for i := range last {
		q := min(uint32(float64(w[i]/sum*One)+0.5), left)
		v.Weights[i] = q
		left -= q
	}
	v.Weights[last] = left
}

func (v *View) precondition(in []Estimate) {
	n := len(in)
	v.Selected = v.Best
	largest := uint32(0)
	v.Gradient = [Candidates]uint32{}
	for r := range n {
		g := uint32(min(product(&v.Root[r], &v.Weights), math.MaxUint32))
		v.Gradient[r] = g
		if in[r].Count > 0 && g >= largest {
			v.Selected, largest = r, g
		}
	}
}

// product is a row times the weights, each term rounded down as in the original. Terms have 33 bits: no
// overflow. It is written out because a loop takes three times as long.
func product(row, w *[Candidates]uint32) uint64 {
	return uint64(row[0])*uint64(w[0])>>16 + uint64(row[1])*uint64(w[1])>>16 + uint64(row[2])*uint64(w[2])>>16 +
		uint64(row[3])*uint64(w[3])>>16 + uint64(row[4])*uint64(w[4])>>16 + uint64(row[5])*uint64(w[5])>>16 +
		uint64(row[6])*uint64(w[6])>>16
}

func fisher(f *square, weights []uint32, in []Estimate) {
	n := len(in)
	total := 0.0
	for i := range in {
		total += in[i].Count
	}
	var p [Candidates]float64
	for i := range n {
		p[i] = float64(weights[i]) / One
	}
	for i := range n {
		share := 0.0
		if total > 0 {
			share = in[i].Count / total
		}
		for a := range n {
			for b := range n {
				f[a][b] += share * (unit(i, a) - p[a]) * (unit(i, b) - p[b])
			}
		}
	}
	for a := range n {
		f[a][a] += damping
	}
}

func unit(i, j int) float64 {
	if i == j {
		return 1
	}
	return 0
}

// toQ16 rounds to Q16 in 0..MaxUint32; NaN becomes 0.
func toQ16(x float64) uint32 {
	switch q := math.Round(x * One); {
	case !(q > 0):
		return 0
	case q >= math.MaxUint32:
		return math.MaxUint32
	default:
		return uint32(q)
	}
}
