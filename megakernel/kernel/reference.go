package kernel

import (
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/userop"
	"ringmaster/ring"
)

// Image is the memory a wave works on, laid out as on the device.
type Image struct {
	Control  ring.Control
	Slots    []ring.Slot
	Statuses []ring.Status
	Results  []uint32
	Schedule []ring.Entry
	Heap     []uint32
	Cold     []uint32
	Print    []uint32
}

// Interpret runs one dispatch on an image the way the kernel does and is the
// definition of what the kernel has to do. It is plain sequential code with
// the kernel's shape, one case per opcode in the same order; it is not the
// fast path and no launch uses it. Workgroups take their chunks in turn,
// which is one of the orders a device may choose. An operator's opcode
// without a Go reference panics.
func (c *Catalog) Interpret(image *Image, k Kernel, w Wave, g policy.Geometry) {
	r := reference{Image: image, catalog: c, hot: c.Compiled(k), fused: k.Kind == Fused, exact: k.Kind == Exact, wave: &w}
	ctl := &image.Control
	positions, ticket := w.Entries<<ring.PageShift, &ctl.Ticket
	if w.Cold {
		positions, ticket = ctl.Cold, &ctl.ColdTicket
	} else {
		ctl.LocalSize = g.Width
		ctl.Groups = g.Groups
		ctl.Chunk = w.Chunk
		ctl.ClaimBudget = w.ClaimBudget
		ctl.StepBudget = w.StepBudget
		ctl.ColdDispatch[1], ctl.ColdDispatch[2] = 1, 1
	}
	given := g.Groups * w.Chunk
	next := make([]uint32, g.Groups) // first position of each group's next chunk
	for i := range next {
		next[i] = uint32(i) * w.Chunk
	}
	for claim := uint32(0); claim < w.ClaimBudget; claim++ {
		working := false
		for group, first := range next {
			if first >= positions {
				continue
			}
			working = true
			ctl.Chunks++
			next[group] = positions
			if given < positions && claim+1 < w.ClaimBudget {
				next[group] = given + *ticket
				*ticket += w.Chunk
			}
			r.chunk(first, min(first+w.Chunk, positions), g.Groups)
		}
		if !working {
			return
		}
	}
}

// Execute runs one slot on a window and returns its fault code and its result.
// A yield counts as having given way often enough, an await as at its last
// attempt. ok is false, and nothing has run, for an operator's opcode without
// a Go reference. Prints go nowhere.
func (c *Catalog) Execute(s *ring.Slot, window []uint32) (fault ring.FaultCode, result uint32, ok bool) {
	if u := c.userOpcode(Opcode(s.Opcode)); u != nil && userop.References[u.Reference] == nil {
		return 0, 0, false
	}
	wave := Wave{StepBudget: ^uint32(0), Tenant: s.Tenant, WindowLength: uint32(len(window))}
	image := Image{Heap: window, Print: make([]uint32, ring.PrintLogWords(1))}
	r := reference{Image: &image, catalog: c, hot: c.all, wave: &wave}
	last := ring.NewStatus(ring.Published)
	for range MaxAttempts {
		last = last.Attempted()
	}
	fault, result = r.execute(s, last)
	return fault, result, true
}

// reference is one dispatch of the Go reference.
type reference struct {
	*Image
	catalog *Catalog
	hot     OpcodeSet
	fused   bool // other opcodes go to the cold list
	exact   bool // other opcodes are faults
	wave    *Wave
}

// chunk runs the positions of one chunk.
func (r *reference) chunk(first, end, groups uint32) {
	before := r.Control.Cold
	for p := first; p < end; p++ {
		index, ok := r.find(p)
		switch {
		case !ok:
		case r.fused && !r.hot.Has(Opcode(r.Slots[index].Opcode)):
			r.Cold[r.Control.Cold] = index
			r.Control.Cold++
		default:
			r.attempt(index)
		}
	}
	if n := r.Control.Cold; n > before {
		d := &r.Control.ColdDispatch[0]
		*d = max(*d, min((n+r.wave.Chunk-1)/r.wave.Chunk, groups))
	}
}

// find is the slot at one position, and whether it is scheduled and published.
func (r *reference) find(position uint32) (index uint32, live bool) {
	if r.wave.Cold {
		index = r.Cold[position]
		return index, r.Statuses[index].State() == ring.Published
	}
	entry := r.Schedule[position>>ring.PageShift]
	offset := position & (ring.PageSlots - 1)
	if int(offset) >= entry.Count() {
		return 0, false
	}
	index = entry.Page()<<ring.PageShift + offset
	return index, r.Statuses[index].State() == ring.Published
}

// What stands in place of a fault code for a slot without a final state.
const (
	notReached = ^ring.FaultCode(0)     // stays published
	yielded    = ^ring.FaultCode(0) - 1 // goes round again, having given way
	requeued   = ^ring.FaultCode(0) - 2 // goes round again, having waited in vain
)

// attempt runs a slot that was found.
func (r *reference) attempt(index uint32) {
	slot, status := &r.Slots[index], r.Statuses[index]
	fault, result := r.execute(slot, status)
	if fault == notReached {
		r.Control.Unreached++
		return
	}
	status = status.Attempted()
	switch fault {
	case ring.FaultNone:
		r.Control.Executed++
		r.Control.OpcodeCounts[slot.Opcode]++
		status = status.With(ring.Done)
	case yielded:
		r.Control.Again++
		status = status.With(ring.Yielded)
	case requeued:
		r.Control.Again++
		status = status.With(ring.Requeued)
	default:
		r.Control.Faulted++
		status = status.WithFault(fault)
	}
	if fault != ring.FaultNone {
		result = 0
	}
	r.Results[index] = result
	r.Statuses[index] = status
}
