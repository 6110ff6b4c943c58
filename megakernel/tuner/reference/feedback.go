package reference

import (
	"cmp"
	"slices"
)

// Feedback keeps the lowest latency of each width of one launch, as the
// original does between launches. The zero value has measured nothing.
type Feedback struct {
	measured []Measurement // ascending by workgroup
}

// Accept takes a measured launch and returns the width to use from now on. The
// launch is refused, and nothing changes, outside the natural mode, if the caller
// fixed the size or the grid, without a time, for a program that cannot be tuned,
// for a size that is not one-dimensional or does not fit, and if fewer than two
// widths fit, because then there is nothing to choose.
func (f *Feedback) Accept(p *Program, w Workgroup, ns uint64) (selected Workgroup, accepted bool) {
	if p.Mode != Natural || ns == 0 || p.Workgroup != nil || p.Grid != nil ||
		w[1] != 1 || w[2] != 1 || !p.Limits.fits(w[0]) || !Tunable(p) {
		return Workgroup{}, false
	}
	measured := f.Measured()
	i, known := slices.BinarySearchFunc(measured, w, func(m Measurement, w Workgroup) int {
		return cmp.Compare(m.Workgroup[0], w[0])
	})
	switch {
	case !known:
		measured = slices.Insert(measured, i, Measurement{w, ns})
	case ns < measured[i].Ns:
		measured[i].Ns = ns
	}
	selected, found := ColdStart(p.Limits, p.Declared, Elements(p.Bindings, p.HasAtomic), measured)
	if !found {
		return Workgroup{}, false
	}
	f.measured = measured
	return selected, true
}

// Measured are the lowest latencies, ascending by width.
func (f *Feedback) Measured() []Measurement { return slices.Clone(f.measured) }
