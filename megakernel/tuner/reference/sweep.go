package reference

import "fmt"

// Widths are the candidate widths of the original, in invocations.
var Widths = [...]uint32{32, 64, 128, 256, 512, 1024}

// DefaultWidth is the width of a program that declares none.
const DefaultWidth = 64

// Candidates are the widths that an invocation limit allows, ascending.
func Candidates(maxInvocations uint32) []uint32 {
	var out []uint32
	for _, w := range Widths {
		if w <= maxInvocations {
			out = append(out, w)
		}
	}
	return out
}

// Sweep measures every candidate once, in order, and returns the fastest, the
// first on ties. The first error of measure ends it. Without candidates found
// is false.
func Sweep(candidates []Workgroup, measure func(Workgroup) (ns uint64, err error)) (best Measurement, found bool, err error) {
	for _, w := range candidates {
		ns, err := measure(w)
		if err != nil {
			return Measurement{}, false, fmt.Errorf("measure %d x %d x %d: %w", w[0], w[1], w[2], err)
		}
		if !found || ns < best.Ns {
			best, found = Measurement{w, ns}, true
		}
	}
	return best, found, nil
}

// SweepNatural measures every candidate once, in order, and returns the natural-gradient choice among
// them; see [Sweep] and [Suggest], of which it consists, errors included. fisher has a row for each
// candidate.
func SweepNatural(candidates []Workgroup, temperatureNs uint64, fisher []uint32, measure func(Workgroup) (ns uint64, err error)) (s Suggestion, found bool, err error) {
	measured := make([]Measurement, 0, len(candidates))
	_, found, err = Sweep(candidates, func(w Workgroup) (uint64, error) {
		ns, err := measure(w)
		measured = append(measured, Measurement{w, ns})
		return ns, err
	})
	if !found || err != nil {
		return Suggestion{}, false, err
	}
	s, err = Suggest(temperatureNs, measured, fisher)
	return s, err == nil, err
}
