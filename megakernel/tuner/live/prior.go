package live

import "math"

// Lanes assumed of a device that does not say: a GPU has wide subgroups, a
// software device narrow ones and a few threads.
const (
	lanesOfGPU      = 1 << 17
	lanesOfSoftware = 16
	narrowSubgroup  = 8
)

// rough are the costs of the model of a ring, in units of one row of a GPU's
// workgroup. Only their ratios matter, and those only roughly.
type rough struct{ dispatch, group, claim, row float64 }

var (
	roughGPU      = rough{dispatch: 8, group: 0.002, claim: 2, row: 1}
	roughSoftware = rough{dispatch: 20, group: 0.5, claim: 0.3, row: 0.1}
)

// expected is the log of what a launch costs by a model of waves: workgroups
// take tickets in rounds, a ticket is a claim and rows of one slot for each
// invocation, and invocations beyond the device's lanes take turns.
func expected(w *Workload, g Geometry) float64 {
	lanes, r := float64(w.Lanes), roughGPU
	software := w.Limits.SubgroupSize != 0 && w.Limits.SubgroupSize <= narrowSubgroup
	if software {
		r = roughSoftware
	}
	switch {
	case lanes == 0 && software:
		lanes = lanesOfSoftware
	case lanes == 0:
		lanes = lanesOfGPU
	}
	depth := math.Min(float64(g.Depth), float64(w.Slots))
	dispatches := math.Ceil(float64(w.Slots) / depth)
	tickets := math.Ceil(depth / float64(g.Chunk))
	groups := math.Min(float64(g.Groups), tickets)
	rows := math.Ceil(float64(g.Chunk) / float64(g.Width))
	turns := math.Max(groups*float64(g.Width)/lanes, 1)
	rounds := math.Ceil(tickets / groups)
	ticket := r.claim + rows*r.row
	return math.Log(dispatches * (r.dispatch + r.group*float64(g.Groups) + rounds*ticket*turns))
}
