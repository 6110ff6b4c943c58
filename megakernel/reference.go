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
func (image *Image) execute(w *Wave, s *ring.Slot) (fault ring.FaultCode, result uint32) {
	opcode, a := Opcode(s.Opcode), &s.Args
	var reads, writes uint32 // words read, words written
	switch opcode {
	case OpNop:
	case OpStore:
		writes = 1
	case OpAdd:
		writes = 1
	case OpLoad:
		reads = 1
	case OpCopy:
		reads, writes = a[2], a[2]
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

	outside := reads > 0 && w.beyond(a[0], reads) || writes > 0 && w.beyond(a[1], writes)
	if fault == ring.FaultNone && outside {
		fault = ring.FaultOutOfWindow
	}
	if s.Tenant != w.Tenant {
		fault = ring.FaultForeignTenant
	}
	steps := max(reads, writes)
	if fault == ring.FaultNone && steps > w.StepBudget {
		fault = notReached
	}
	if fault != ring.FaultNone {
		return fault, 0
	}
	source := w.WindowBase + a[0]
	target := w.WindowBase + a[1]
	if opcode == OpAdd {
		image.Heap[target] += a[0]
		writes = 0
	}
	value := a[0]
	for i := range steps {
		if i < reads {
			value = image.Heap[source+i]
		}
		if i < writes {
			image.Heap[target+i] = value
		}
	}
	if opcode == OpLoad {
		result = value
	}
	return ring.FaultNone, result
}

// beyond reports whether words of the window from address on leave it.
func (w *Wave) beyond(address, words uint32) bool {
	return address > w.WindowLength || words > w.WindowLength-address
}
