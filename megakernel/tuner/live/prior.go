package live

import (
	"math"

	"ringmaster/megakernel/policy"
)

// Lanes that are assumed of a device that does not say: a GPU has wide subgroups,
// a software renderer narrow ones and a few threads.
const (
	lanesOfGPU      = 1 << 17
	narrowSubgroup  = 8
	leastGroupsOfGL = 65_535
)

// rough are the costs of the model of a GPU, in units of one row of a workgroup. Only
// their ratios matter, and those only roughly.
type rough struct{ dispatch, group, claim, row float64 }

var roughGPU = rough{dispatch: 8, group: 0.002, claim: 2, row: 1}

// roughCPU are the costs of the model of a software renderer, in microseconds.
type roughCPU struct{ dispatch, wake, invocation, claim, lane float64 }

// Fitted to llvmpipe on two cores, 420 geometries of twelve workloads, which it explains within 3 to 11 %
// if the cost of a slot is fitted for each workload. On other machines all costs are larger or smaller
// together, on which no choice depends.
var roughSoftware = roughCPU{dispatch: 48, wake: 39, invocation: 0.36, claim: 0.6, lane: 0.11}

// waves is the log of what a launch costs on a GPU by a model of waves: workgroups take
// tickets in rounds, and a ticket is rows of one slot for each invocation.
func waves(w *Workload, g Geometry) float64 {
	lanes := float64(w.Lanes)
	if lanes == 0 {
		lanes = lanesOfGPU
	}
	depth := math.Min(float64(g.Depth), float64(w.Slots))
	dispatches := math.Ceil(float64(w.Slots) / depth)
	tickets := math.Ceil(depth / float64(g.Chunk))
	groups := math.Min(float64(g.Groups), tickets)
	rounds := math.Ceil(tickets / groups)
	rows := math.Ceil(float64(g.Chunk) / float64(g.Width))
	return math.Log(dispatches * roughGPU.spread(g, groups, rounds, rows, lanes))
}

// isSoftware guesses whether a device runs on the host's processors: it has narrow
// subgroups, or like Mesa's llvmpipe it does not say and allows no more workgroups
// than GL demands. A wrong guess costs a few launches.
func isSoftware(l *policy.Limits) bool {
	if l.SubgroupSize == 0 {
		return l.MaxWorkgroupsPerDimension <= leastGroupsOfGL
	}
	return l.SubgroupSize <= narrowSubgroup
}

const (
	unitsOfGPU = 128 // over which workgroups are spread
	// crowding is how much slower a row is when a unit has as many invocations as it
	// runs at full speed: they share its paths to memory.
	crowding = 0
)

// spread is the model of a device that holds many workgroups at a time. The first
// ticket of each costs no claim. Workgroups on one unit slow each other down.
func (r rough) spread(g Geometry, groups, rounds, rows, lanes float64) float64 {
	active := math.Min(float64(g.Width), float64(g.Chunk))
	load := active * math.Max(groups/unitsOfGPU, 1) * unitsOfGPU / lanes
	row := r.row * (1 + crowding*math.Min(load, 1)) * math.Max(load, 1)
	return r.dispatch + r.group*float64(g.Groups) + (rounds-1)*r.claim + rounds*rows*row
}
