package kernel

import (
	"ringmaster/megakernel/userop"
	"ringmaster/ring"
)

// execute runs one slot and returns its fault code, or what stands in its
// place, and its result.
func (r *reference) execute(s *ring.Slot, status ring.Status) (fault ring.FaultCode, result uint32) {
	if s.Tenant != r.wave.Tenant {
		return ring.FaultForeignTenant, 0
	}
	if r.exact && !r.hot.Has(Opcode(s.Opcode)) {
		return ring.FaultUnknownOpcode, 0
	}
	if Opcode(s.Opcode) != OpPacked {
		return r.part(s, Opcode(s.Opcode), &s.Args, status, true, 0)
	}
	// First every part is checked, then every part runs.
	for _, run := range []bool{false, true} {
		for i := range max(min(s.Args[0]&0xFF, PackedMax), 1) {
			opcode, args, ok := packedPartAt(&s.Args, int(i))
			if !ok {
				return ring.FaultBadPacked, 0
			}
			if fault, result = r.part(s, opcode, &args, status, run, result); fault != ring.FaultNone {
				return fault, 0
			}
		}
	}
	return ring.FaultNone, result
}

// packedPartAt is a part of a packed slot with its arguments, or false if it
// does not fit.
func packedPartAt(a *[ring.ArgWords]uint32, i int) (opcode Opcode, args [ring.ArgWords]uint32, ok bool) {
	n, words := int(a[0]&0xFF), int(a[0]>>8&0xFF)
	if n < 1 || n > PackedMax || packedHead(n)+words > ring.ArgWords {
		return 0, args, false
	}
	opcode, at := packedPart(a, i)
	needs, known := opcode.packable()
	if !known || at+needs > words {
		return 0, args, false
	}
	for j := range 3 {
		args[j] = a[min(packedHead(n)+at+j, ring.ArgWords-1)]
	}
	return opcode, args, true
}

// part checks an operation and, if run is set, runs it. result is the slot's
// result so far.
func (r *reference) part(s *ring.Slot, opcode Opcode, a *[ring.ArgWords]uint32, status ring.Status, run bool, result uint32) (ring.FaultCode, uint32) {
	reads, writes, fault := r.demand(opcode, a, status)
	outside := reads > 0 && r.wave.beyond(a[0], reads) || writes > 0 && r.wave.beyond(a[1], writes)
	if fault == ring.FaultNone && outside {
		fault = ring.FaultOutOfWindow
	}
	if fault == ring.FaultNone && max(reads, writes) > r.wave.StepBudget {
		fault = notReached
	}
	if fault != ring.FaultNone || !run {
		return fault, result
	}
	return r.run(s, opcode, a, status, result)
}

// demand is how many words an operation reads from address a[0] on and writes from a[1]
// on, and what is wrong with its other arguments.
func (r *reference) demand(opcode Opcode, a *[ring.ArgWords]uint32, status ring.Status) (reads, writes uint32, fault ring.FaultCode) {
	row := opcode.row()
	if row == nil {
		if r.catalog.userOpcode(opcode) == nil {
			fault = ring.FaultUnknownOpcode
		}
		return 0, 0, fault
	}
	if row.fault != nil {
		fault = row.fault(a)
	}
	switch {
	case fault != ring.FaultNone:
	case opcode == OpFault:
		fault = ring.FaultUser + ring.FaultCode(a[0])
	case opcode == OpYield && status.Attempts() < a[0]:
		fault = yielded
	}
	return row.reads.of(a), row.writes.of(a), fault
}

// run runs an operation that was checked.
func (r *reference) run(s *ring.Slot, opcode Opcode, a *[ring.ArgWords]uint32, status ring.Status, result uint32) (ring.FaultCode, uint32) {
	window := r.Heap[r.wave.WindowBase : r.wave.WindowBase+r.wave.WindowLength]
	switch opcode {
	case OpStore:
		window[a[1]] = a[0]
	case OpAdd:
		window[a[1]] += a[0]
	case OpLoad:
		result = window[a[0]]
	case OpCompareSwap:
		result = window[a[0]]
		if result == a[1] {
			window[a[0]] = a[2]
		}
	case OpCopy:
		for i := range a[2] {
			window[a[1]+i] = window[a[0]+i]
		}
	case OpPrint:
		ring.AppendPrint(r.Print, &ring.PrintRecord{Sequence: s.Sequence, Tenant: s.Tenant, Args: [ring.PrintArgs]uint32(a[:])})
	case OpAwait:
		result = window[a[0]]
		switch {
		case result == a[1]:
		case status.Attempts()+1 < a[2]:
			return requeued, result
		default:
			return ring.FaultGaveUp, result
		}
	default:
		if u := r.catalog.userOpcode(opcode); u != nil {
			return r.user(u, s, window)
		}
	}
	return ring.FaultNone, result
}

// user runs an operator's opcode.
func (r *reference) user(u *userop.Opcode, s *ring.Slot, window []uint32) (ring.FaultCode, uint32) {
	if u.StepsOperand != userop.NoOperand && s.Args[u.StepsOperand] > u.MaxSteps {
		return ring.FaultTooManySteps, 0
	}
	steps := u.Steps(&s.Args)
	if steps > r.wave.StepBudget {
		return notReached, 0
	}
	slot := userop.Slot{Args: s.Args, Sequence: s.Sequence, Window: window, Steps: steps}
	if !u.Run(&slot) {
		panic("kernel: opcode " + u.Name + " has no Go reference")
	}
	switch slot.Violation {
	case userop.OutsideWindow:
		return ring.FaultOutOfWindow, 0
	case userop.TooManySteps:
		return ring.FaultTooManySteps, 0
	case userop.Failed:
		if slot.Code >= ring.UserFaults {
			return ring.FaultBadCode, 0
		}
		return ring.FaultUser + ring.FaultCode(slot.Code), 0
	}
	return ring.FaultNone, slot.Word
}

// beyond reports whether so many words from address on reach beyond the window.
func (w *Wave) beyond(address, words uint32) bool {
	return address > w.WindowLength || words > w.WindowLength-address
}
