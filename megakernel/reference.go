package megakernel

import "ringmaster/ring"

// Image is the memory a wave works on, laid out as on the device.
type Image struct {
	Control  ring.Control
	Slots    []ring.Slot
	Statuses []ring.Status
	Results  []uint32
	Schedule []ring.Entry
	Heap     []uint32
}

// Interpret runs one wave on an image the way the kernel does and is the
// definition of what the kernel has to do. It is plain sequential code with
// the kernel's shape, one case per opcode in the same order; it is not the
// fast path and no launch uses it. Workgroups take their tickets in turn,
// which is one of the orders a device may choose.
func Interpret(image *Image, w Wave, g Geometry) {
	c := &image.Control
	c.LocalSize = g.Width
	c.Groups = g.Groups
	c.Chunk = w.Chunk
	c.ClaimBudget = w.ClaimBudget
	c.StepBudget = w.StepBudget

	positions := w.Entries << ring.PageShift
	running := make([]bool, g.Groups)
	for i := range running {
		running[i] = true
	}
	for claim := uint32(0); claim < w.ClaimBudget; claim++ {
		working := false
		for group := range running {
			if !running[group] {
				continue
			}
			first := c.Ticket
			c.Ticket += w.Chunk
			if first >= positions {
				running[group] = false
				continue
			}
			working = true
			c.Chunks++
			for p := first; p < min(first+w.Chunk, positions); p++ {
				image.attempt(&w, p)
			}
		}
		if !working {
			return
		}
	}
}

// notReached stands in place of a fault code for a slot that stays published.
const notReached = ^ring.FaultCode(0)

// attempt runs the slot at one position of the schedule if it is published.
func (image *Image) attempt(w *Wave, position uint32) {
	entry := image.Schedule[position>>ring.PageShift]
	offset := position & (ring.PageSlots - 1)
	if int(offset) >= entry.Count() {
		return
	}
	index := entry.Page()<<ring.PageShift + offset
	status := image.Statuses[index]
	if status.State() != ring.Published {
		return
	}
	slot := &image.Slots[index]
	fault, result := image.execute(w, slot)
	if fault == notReached {
		image.Control.Unreached++
		return
	}
	image.Results[index] = result
	if fault != ring.FaultNone {
		image.Control.Faulted++
		image.Statuses[index] = status.Attempted().WithFault(fault)
		return
	}
	image.Control.Executed++
	image.Control.OpcodeCounts[slot.Opcode]++
	image.Statuses[index] = status.Attempted().With(ring.Done)
}

// execute runs one slot and returns its fault code, or notReached, and its result.
func (image *Image) execute(w *Wave, s *ring.Slot) (ring.FaultCode, uint32) {
	a := &s.Args
	var (
		fault          ring.FaultCode
		source, target uint32 // first word read, first word written
		reads, writes  uint32 // words read, words written
		adds           bool
		value          uint32
	)
	switch Opcode(s.Opcode) {
	case OpNop:
	case OpStore:
		target, writes, value = a[1], 1, a[0]
	case OpAdd:
		target, adds = a[1], true
	case OpLoad:
		source, reads = a[0], 1
	case OpCopy:
		source, target, reads, writes = a[0], a[1], a[2], a[2]
		if a[2] > CopyCap {
			fault = ring.FaultCopyTooLong
		}
	case OpFault:
		fault = ring.FaultBadCode
		if a[0] < ring.UserFaults {
			fault = ring.FaultUser + ring.FaultCode(a[0])
		}
	case OpFence:
	default:
		fault = ring.FaultUnknownOpcode
	}

	if s.Tenant != w.Tenant {
		fault = ring.FaultForeignTenant
	}
	touched := writes
	if adds {
		touched = 1
	}
	if fault == ring.FaultNone && (w.outside(source, reads) || w.outside(target, touched)) {
		fault = ring.FaultOutOfWindow
	}
	steps := max(reads, writes)
	if fault == ring.FaultNone && steps > w.StepBudget {
		fault = notReached
	}
	if fault != ring.FaultNone {
		return fault, 0
	}
	source += w.WindowBase
	target += w.WindowBase
	for i := range steps {
		if i < reads {
			value = image.Heap[source+i]
		}
		if i < writes {
			image.Heap[target+i] = value
		}
	}
	if adds {
		image.Heap[target] += a[0]
	}
	if writes > 0 {
		value = 0
	}
	return ring.FaultNone, value
}

// outside reports whether words of the window from address on leave it.
func (w *Wave) outside(address, words uint32) bool {
	return address > w.WindowLength || words > w.WindowLength-address
}
