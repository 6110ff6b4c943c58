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
// and for a size that is not one-dimensional or does not fit.
func (f *Feedback) Accept(p *Program, w Workgroup, ns uint64) (selected Workgroup, accepted bool) {
	if p.Mode != Natural || ns == 0 || p.Workgroup != nil || p.Grid != nil ||
		w[1] != 1 || w[2] != 1 || !p.Limits.fits(w[0]) || !Tunable(p) {
		return Workgroup{}, false
	}
	i, known := slices.BinarySearchFunc(f.measured, w, func(m Measurement, w Workgroup) int {
		return cmp.Compare(m.Workgroup[0], w[0])
	})
	switch {
	case !known:
		f.measured = slices.Insert(f.measured, i, Measurement{w, ns})
	case ns < f.measured[i].Ns:
		f.measured[i].Ns = ns
	}
	if s, found := ColdStart(p.Limits, p.Declared, Elements(p.Bindings, p.HasAtomic), f.measured); found {
		return s, true
	}
	return p.Declared, true
}

// Measured are the lowest latencies, ascending by width.
func (f *Feedback) Measured() []Measurement { return slices.Clone(f.measured) }
