package reference

import "slices"

// The cold-start estimate: what a workgroup costs to launch, what an idle
// invocation of the last one costs, and the softmax temperature over the
// estimates. All in nanoseconds.
const (
	groupNs                = 1_024
	idleInvocationNs       = 8
	ColdStartTemperatureNs = 4_096
)

// EstimateNs is the estimated time of elements at a width, in nanoseconds: a cost for
// each workgroup and one for each invocation without an element. The width must not
// be zero.
func EstimateNs(elements, width uint32) uint64 {
	groups := (uint64(elements) + uint64(width) - 1) / uint64(width)
	return groups*groupNs + (groups*uint64(width)-uint64(elements))*idleInvocationNs
}

// Limits are a device's launch limits as the original knows them.
type Limits struct {
	MaxThreads uint32    // invocations of a workgroup
	MaxBlock   Workgroup // invocations along each axis
	MaxGrid    [3]uint32 // workgroups along each axis
}

// fits reports whether a width may be launched.
func (l *Limits) fits(width uint32) bool {
	return width != 0 && width <= l.MaxThreads && width <= l.MaxBlock[0]
}

// ColdStart chooses a width from estimates. Measured values, sorted ascending by
// workgroup, take the place of the estimates of their widths. Measured widths that
// are not candidates are considered as well. With fewer than two widths to choose
// from, found is false.
//
// Because a wider workgroup always means fewer of them, the choice without
// measurements is in practice the widest that fits.
func ColdStart(limits Limits, declared Workgroup, elements uint32, measured []Measurement) (selected Workgroup, found bool) {
	samples := coldSamples(&limits, declared, elements, measured)
	if len(samples) < 2 {
		return Workgroup{}, false
	}
	s, err := Suggest(ColdStartTemperatureNs, samples, Identity(len(samples)))
	if err != nil {
		return Workgroup{}, false
	}
	return s.Selected, true
}

func coldSamples(limits *Limits, declared Workgroup, elements uint32, measured []Measurement) []Measurement {
	var samples []Measurement
	has := func(w Workgroup) bool {
		return slices.ContainsFunc(samples, func(m Measurement) bool { return m.Workgroup == w })
	}
	for _, width := range append(Widths[:len(Widths):len(Widths)], declared[0]) {
		w := Workgroup{width, 1, 1}
		if !limits.fits(width) || has(w) {
			continue
		}
		ns := EstimateNs(elements, width)
		if i := slices.IndexFunc(measured, func(m Measurement) bool { return m.Workgroup == w }); i >= 0 {
			ns = measured[i].Ns
		}
		samples = append(samples, Measurement{w, ns})
	}
	for _, m := range measured {
		w := m.Workgroup
		if w[1] == 1 && w[2] == 1 && m.Ns != 0 && limits.fits(w[0]) && !has(w) {
			samples = append(samples, m)
		}
	}
	return samples
}
