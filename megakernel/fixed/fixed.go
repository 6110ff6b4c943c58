package fixed

import (
	"time"

	"ringmaster/megakernel/policy"
)

// Width is that of the workgroups: 256, the usual first choice of who writes a kernel.
const Width = 256

// MostDepth is the most slots of a launch where nobody sets a bound: the policy's largest.
const MostDepth = 1 << 20

// mostInFlight is two streams' worth: one launch runs while the next is made ready.
const mostInFlight = 2

// Groups is how many workgroups of Width a device runs at a time, from its units and the invocations that each
// holds: 2,048 a multiprocessor make 8. A unit that holds less than a workgroup, as a processor does, runs one.
// 1 for a device that nobody described.
func Groups(l *policy.Limits) uint32 {
	return max(l.Units*max(l.UnitLanes/Width, 1), 1)
}

// Fill is what CUDA's guides teach for a loop over any number of elements: groups of 256, as many as the device
// runs at a time, each of which goes on until nothing is left. It does not ask how much waits: a plan is made
// before the work for it has come, and a group that finds nothing costs only its start.
func Fill(l *policy.Limits) policy.Geometry {
	return policy.Geometry{Width: Width, Groups: Groups(l), Chunk: Width, Depth: MostDepth}
}

// Plan launches whatever waits at one geometry, cut to what the device can launch, with kernels compiled for what
// they run. A queue that fills two launches has two in flight. What fits a round of the worker's resident kernel
// goes there: that is the engine's to offer, and no decision.
func Plan(r *policy.Request, g policy.Geometry) policy.Recommendation {
	l := &r.Limits
	g.Width = min(g.Width, max(l.MaxWidth(), 1))
	g.Groups = min(g.Groups, max(l.MaxWorkgroupsPerDimension, 1))
	g.Depth = max(g.Depth, g.Width)
	g.Chunk = min(max(g.Chunk, 1), g.Depth)
	launch := policy.LaunchWave
	if slots := min(max(r.QueueLen, 1), g.Depth); slots <= r.Lease.Slots {
		launch = policy.LaunchLease
	}
	return policy.Recommendation{
		WorkgroupSizeX: g.Width, DispatchGrid: [3]uint32{g.Groups, 1, 1}, WorkerGroups: g.Groups, ClaimChunk: g.Chunk, BatchDepth: g.Depth,
		SlotCount: r.QueueLen, InFlight: max(min(r.QueueLen/g.Depth, mostInFlight), 1), LaunchMode: launch, Mode: policy.ModeJIT,
	}
}

// Decide is an actors.Decider that plans Fill for every queue.
func Decide(_ string, r *policy.Request, before policy.State) (policy.Recommendation, policy.State, time.Duration, error) {
	return Plan(r, Fill(&r.Limits)), before, 0, nil
}
