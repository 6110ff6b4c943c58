package kernel

import (
	"fmt"
	"strings"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

// DefaultLoopBudget is the most loop iterations one invocation may run in one dispatch. It
// is below what every known driver runs. Mesa's llvmpipe gives each vector of invocations
// 65,535 iterations, summed over all loops of the dispatch and counted while any of its
// lanes is in the loop; past them each loop ends after one more turn, silently. The rest is
// room for the loops at a kernel's end. The bound holds on every device, because it also
// keeps a dispatch short.
const DefaultLoopBudget = 60_000

// Bounds of a geometry beside the device's limits.
const (
	maxChunk      = 1 << 20 // positions
	maxOverclaim  = 1 << 30 // groups times chunk: tickets past the end must not wrap
	RowIterations = 3       // iterations of a slot besides its steps: its own, the loop over parts, and the end of the loop of moves
)

// Limits are the limits of a device that a geometry has to fit.
type Limits struct {
	Width  uint32 // invocations of a workgroup
	Groups uint32 // workgroups of a dispatch
}

// LimitsOf are the limits of a device.
func LimitsOf(t *gpu.Traits) Limits {
	return Limits{Width: min(t.MaxWidth, t.MaxInvocations), Groups: t.MaxGroups}
}

// Usable refuses limits that no geometry fits.
func (l Limits) Usable() error {
	if l.Width == 0 || l.Groups == 0 {
		return fmt.Errorf("the device says it runs %d workgroups of %d invocations; its driver is broken, or this context cannot compute",
			l.Groups, l.Width)
	}
	return nil
}

// Fit is the nearest geometry to g that fits the device, whose chunk of
// slots of at most steps loop steps each fits the loop budget, and whose groups reach a page, and why it
// differs from g; the reason is empty if it does not. The limits are usable. A depth
// is kept: which slots a launch takes is not the dispatch's matter.
func Fit(g policy.Geometry, limits Limits, steps, loopBudget uint32) (policy.Geometry, string) {
	var reasons []string
	bounded := func(name string, v *uint32, most uint32, bound string) {
		if to := min(max(*v, 1), most); to != *v {
			reasons = append(reasons, fmt.Sprintf("%s %d: %s %d", name, *v, bound, to))
			*v = to
		}
	}
	bounded("width", &g.Width, limits.Width, "the device's bound is")
	bounded("groups", &g.Groups, min(limits.Groups, maxOverclaim), "the device's bound is")
	bounded("chunk", &g.Chunk, min(maxChunk, maxOverclaim/g.Groups), "the ticket's bound is")
	rows := max((loopBudget-1)/(RowIterations+steps), 1)
	bounded("chunk", &g.Chunk, uint32(min(uint64(rows)*uint64(g.Width), maxChunk)), "the loop budget allows")
	// A page stays in the schedule, with its slots that are done, until all of it is. Groups that together
	// reach less than a page would look at the same done slots in every launch, and at nothing else.
	each := uint64(ClaimBudget(g, steps, loopBudget)) * uint64(g.Chunk)
	if least := min(uint32((ring.PageSlots+each-1)/each), limits.Groups); g.Groups < least {
		reasons = append(reasons, fmt.Sprintf("groups %d: a page of slots takes %d", g.Groups, least))
		g.Groups = least
	}
	return g, strings.Join(reasons, "; ")
}

// ClaimBudget is how many tickets a workgroup may take within the loop budget
// when a slot takes at most steps loop steps. It is at least 1.
func ClaimBudget(g policy.Geometry, steps, loopBudget uint32) uint32 {
	rows := (uint64(g.Chunk) + uint64(g.Width) - 1) / uint64(g.Width)
	return uint32(max(uint64(loopBudget)/(1+rows*uint64(RowIterations+steps)), 1))
}

// RowCost is the most loop iterations that one position of the schedule costs
// an invocation of a kernel, when the scheduled slots have opcodes of a set
// and take at most steps steps each. Invocations of a vector run in lockstep, so
// what lanes with different opcodes need adds up; and some drivers run loops once
// that the kernel has but no slot needs.
func (c *Catalog) RowCost(k Kernel, scheduled OpcodeSet, steps uint32) uint32 {
	compiled := c.Compiled(k)
	cost := uint32(RowIterations)
	if scheduled&^c.userSet() != 0 {
		cost += steps // the loop of moves
	}
	if compiled.Has(OpPacked) && scheduled.Has(OpPacked) {
		cost += packedIterations
	}
	for i := range c.user {
		u := &c.user[i]
		if compiled.Has(Opcode(u.ID)) {
			cost += uint32(u.Loops)
		}
		if compiled.Has(Opcode(u.ID)) && scheduled.Has(Opcode(u.ID)) {
			cost += u.VectorSteps(min(steps, u.MaxSteps))
		}
	}
	return cost
}

// MinLoopBudget lets a workgroup claim one row of the longest copies.
const MinLoopBudget = 1 + RowIterations + packedIterations + CopyCap

// packedIterations is the turns of the loop over parts: each part is checked
// and then run, with one turn of the loop of moves in either.
const packedIterations = 4 * PackedMax

// userSet is the set of the operator's opcodes.
func (c *Catalog) userSet() (set OpcodeSet) { return c.all & userNumbers }
