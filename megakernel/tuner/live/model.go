package live

import (
	"math"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/gp"
)

// derived is the number of quantities that are products and quotients of the
// parameters and on which a launch's cost depends more directly than on these: the
// rows of a ticket (chunk over width), the rounds of a workgroup (groups times chunk
// over depth) and the lanes (width times groups).
const derived = 3

// similarity is the correlation of values up to so many steps apart, by their distance;
// length is in doublings.
func similarity(span int, length float64) []float64 {
	k := make([]float64, span+1)
	for i := range k {
		k[i] = gp.Matern(float64(i) / stepsOfDoubling / length)
	}
	return k
}

// relate prepares the similarities of geometries for the process.
func (s *Space) relate() {
	for j := range s.kernel {
		s.kernel[j] = similarity(s.span[j], lengths[j])
	}
	s.derived = make([][derived]int16, len(s.steps))
	for c, l := range s.steps {
		w, g, k, d := l[0], l[1], l[2], l[3]
		s.derived[c] = [derived]int16{k - w, g + k - d, w + g}
	}
	for j := range s.derivedKernel {
		s.derivedKernel[j] = similarity(s.derivedSpan(j), derivedLengths[j])
	}
}

// derivedSpan is by how many steps the values of a derived quantity differ at most.
func (s *Space) derivedSpan(j int) int {
	least, most := int16(math.MaxInt16), int16(math.MinInt16)
	for _, d := range s.derived {
		least, most = min(least, d[j]), max(most, d[j])
	}
	return apart(least, most)
}

func apart(a, b int16) int {
	d := int(a) - int(b)
	return max(d, -d)
}

// covariance of the differences of two pairs of geometries.
func (s *Space) covariance(a, b, c, d int32) float64 {
	v := trustVar * s.expected(a, b) * s.expected(c, d)
	return v + s.alike(a, c) - s.alike(a, d) - s.alike(b, c) + s.alike(b, d)
}

// alike is the covariance of the costs of two geometries, up to a constant.
func (s *Space) alike(a, b int32) float64 {
	la, lb := &s.steps[a], &s.steps[b]
	sum, product := 0.0, 1.0
	for j := range axes {
		k := s.kernel[j][apart(la[j], lb[j])]
		sum += effects[j] * k
		product *= k
	}
	da, db := &s.derived[a], &s.derived[b]
	for j := range derived {
		sum += derivedEffects[j] * s.derivedKernel[j][apart(da[j], db[j])]
	}
	return sum + jointVar*product
}

// expected is by how much the model expects a geometry to cost more than another.
func (s *Space) expected(of, than int32) float64 { return s.model[of] - s.model[than] }

// device is what the model assumes of a device: units that run workgroups
// independently, and invocations that all of them hold at once.
type device struct{ units, lanes float64 }

// deviceOf is what a device says that it is, or else a guess. A software renderer has
// narrow subgroups, or like Mesa's llvmpipe it does not say and allows no more workgroups
// than GL demands. A wrong guess, or a wrong description, costs a few looks.
func deviceOf(w *Workload) device {
	l := &w.Limits
	if l.Units != 0 && l.UnitLanes != 0 {
		return device{float64(l.Units), float64(l.Units) * float64(l.UnitLanes)}
	}
	software := l.SubgroupSize != 0 && l.SubgroupSize <= narrowSubgroup ||
		l.SubgroupSize == 0 && l.MaxWorkgroupsPerDimension <= leastGroupsOfGL
	if software {
		return device{softwareUnits, softwareLanes}
	}
	return device{gpuUnits, gpuLanes}
}

// cost is the logarithm of what a launch costs by the model: workgroups take tickets in
// rounds, and a ticket is rows of one slot for each invocation. The first ticket of each
// workgroup costs no claim. Workgroups on one unit slow each other down.
func (d device) cost(w *Workload, g policy.Geometry) float64 {
	depth := math.Min(float64(g.Depth), float64(w.Slots))
	dispatches := math.Ceil(float64(w.Slots) / depth)
	tickets := math.Ceil(depth / float64(g.Chunk))
	groups := math.Min(float64(g.Groups), tickets)
	rounds := math.Ceil(tickets / groups)
	rows := math.Ceil(float64(g.Chunk) / float64(g.Width))
	active := math.Min(float64(g.Width), float64(g.Chunk))
	load := active * math.Max(groups/d.units, 1) * d.units / d.lanes
	row := waves.row * math.Max(load, 1)
	return math.Log(dispatches * (waves.dispatch + waves.group*float64(g.Groups) + (rounds-1)*waves.claim + rounds*rows*row))
}
