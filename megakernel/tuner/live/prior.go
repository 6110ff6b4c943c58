package live

import (
	"math"

	"ringmaster/megakernel/policy"
)

// Lanes that are assumed of a device that does not say: a GPU has wide subgroups,
// a software renderer narrow ones and a few threads.
const (
	lanesOfGPU      = 1 << 17
	lanesOfSoftware = 16
	narrowSubgroup  = 8
	leastGroupsOfGL = 65_535
)

// rough are the costs of the model of a GPU, in units of one row of a workgroup. Only
// their ratios matter, and those only roughly.
type rough struct{ dispatch, group, claim, row float64 }

var roughGPU = rough{dispatch: 8, group: 0.002, claim: 2, row: 1}

// roughCPU are the costs of the model of a software renderer, in microseconds.
// wider is by how much more a slot costs with each doubling of a workgroup's width.
type roughCPU struct{ dispatch, group, invocation, claim, slot, wider float64 }

var roughSoftware = roughCPU{dispatch: 80, group: 2, invocation: 0.12, claim: 0.2, slot: 0.1, wider: 0.04}

// expected is the log of what a launch costs by a model of waves: workgroups
// take tickets in rounds, and a ticket is rows of one slot for each invocation.
func expected(w *Workload, g Geometry) float64 {
	software := isSoftware(&w.Limits)
	lanes := float64(w.Lanes)
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
	rounds := math.Ceil(tickets / groups)
	rows := math.Ceil(float64(g.Chunk) / float64(g.Width))
	if software {
		return math.Log(dispatches * roughSoftware.launch(g, groups, tickets, rows, math.Max(lanes/narrowSubgroup, 1)))
	}
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

// launch is the model of a device that runs few workgroups at a time, each to its end: its
// threads share them evenly. Every invocation of a workgroup is set up, and those of a
// ticket's last row that have no slot take their time too. The wider a workgroup, the less of
// its state is in a cache.
func (r roughCPU) launch(g Geometry, groups, tickets, rows, threads float64) float64 {
	width := float64(g.Width)
	slot := r.slot * (1 + r.wider*math.Log2(math.Max(width/minWidth, 1)))
	work := float64(g.Groups)*(r.group+r.invocation*width) + tickets*(r.claim+rows*width*slot)
	return r.dispatch + work/math.Min(groups, threads)
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
