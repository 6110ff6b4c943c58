package megakernel

import (
	"fmt"
	"strings"

	"ringmaster/megakernel/gpu"
)

// Geometry is the shape of a dispatch.
type Geometry struct {
	Width  uint32 // invocations per workgroup
	Groups uint32 // workgroups
	Chunk  uint32 // positions one ticket claims
}

func (g Geometry) String() string { return fmt.Sprintf("%dx%dx%d", g.Width, g.Groups, g.Chunk) }

// DefaultLoopBudget is the most loop iterations one invocation may run in one
// dispatch. Mesa's llvmpipe gives every vector of invocations 65,535
// iterations, summed over all loops of the dispatch and counted while any of
// its lanes is in the loop; past them each loop ends after one more turn,
// silently. The kernel stays below by design, with room for the loops at its
// end, and on every device the same bound keeps a dispatch short.
const DefaultLoopBudget = 60_000

// Bounds of a geometry beside the device's limits.
const (
	maxChunk      = 1 << 20 // positions
	maxOverclaim  = 1 << 30 // groups times chunk: tickets past the end must not wrap
	rowIterations = 3       // iterations of a slot besides its steps: its own, the loop over parts, and the end of the loop of moves
)

// deviceLimits are the limits a geometry has to fit.
type deviceLimits struct {
	width  uint32 // invocations of a workgroup
	groups uint32 // workgroups of a dispatch
}

func deviceLimitsOf(dev gpu.Device) deviceLimits {
	sizeX, groupsX, invocations := dev.WorkgroupLimits()
	return deviceLimits{width: min(sizeX, invocations), groups: groupsX}
}

// usable refuses limits that no geometry fits.
func (l deviceLimits) usable() error {
	if l.width == 0 || l.groups == 0 {
		return fmt.Errorf("megakernel: the device says it runs %d workgroups of %d invocations; its driver is broken, or this context cannot compute",
			l.groups, l.width)
	}
	return nil
}

// legal is the nearest geometry to g that fits the device and whose chunk of
// slots of at most steps loop steps each fits the loop budget, and why it
// differs from g; the reason is empty if it does not. The limits are usable.
func legal(g Geometry, limits deviceLimits, steps, loopBudget uint32) (Geometry, string) {
	var reasons []string
	bounded := func(name string, v *uint32, most uint32, bound string) {
		if to := min(max(*v, 1), most); to != *v {
			reasons = append(reasons, fmt.Sprintf("%s %d: %s %d", name, *v, bound, to))
			*v = to
		}
	}
	bounded("width", &g.Width, limits.width, "the device's bound is")
	bounded("groups", &g.Groups, min(limits.groups, maxOverclaim), "the device's bound is")
	bounded("chunk", &g.Chunk, min(maxChunk, maxOverclaim/g.Groups), "the ticket's bound is")
	rows := max((loopBudget-1)/(rowIterations+steps), 1)
	bounded("chunk", &g.Chunk, uint32(min(uint64(rows)*uint64(g.Width), maxChunk)), "the loop budget allows")
	return g, strings.Join(reasons, "; ")
}

// claimBudget is how many tickets a workgroup may take within the loop budget
// when a slot takes at most steps loop steps. It is at least 1.
func claimBudget(g Geometry, steps, loopBudget uint32) uint32 {
	rows := (uint64(g.Chunk) + uint64(g.Width) - 1) / uint64(g.Width)
	return uint32(max(uint64(loopBudget)/(1+rows*uint64(rowIterations+steps)), 1))
}
