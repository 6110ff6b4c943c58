package ring

import "fmt"

// State is what is to be done with a slot.
type State uint32

// States of a slot. The package comment draws the transitions.
const (
	Empty     State = iota // no work here
	Published              // ready for a wave
	Claimed                // in the hands of a kernel that takes single slots
	Done                   // executed; the result word is valid
	Yielded                // attempted, gave way, wants another wave
	Requeued               // attempted, could not proceed, wants another wave
	Fault                  // ended without effect; the fault code says why
	states
)

var stateNames = [states]string{"empty", "published", "claimed", "done", "yielded", "requeued", "fault"}

func (s State) String() string {
	if s < states {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint32(s))
}

// Terminal reports whether a slot in this state needs no further wave.
func (s State) Terminal() bool { return s == Done || s == Fault }

// successors has bit t of successors[s] set if a slot may go from s to t.
var successors = [states]uint32{
	Empty:     1 << Published,
	Published: 1<<Claimed | 1<<Done | 1<<Yielded | 1<<Requeued | 1<<Fault,
	Claimed:   1<<Published | 1<<Done | 1<<Yielded | 1<<Requeued | 1<<Fault,
	Done:      1 << Empty,
	Yielded:   1 << Published,
	Requeued:  1 << Published,
	Fault:     1 << Empty,
}

// CanBecome reports whether a slot may go from s to next in one step.
func (s State) CanBecome(next State) bool {
	return s < states && next < states && successors[s]>>next&1 != 0
}

// FaultCode says why a slot ended in Fault.
type FaultCode uint32

// Fault codes. Codes from FaultUser on are raised by the fault opcode, which
// adds its first argument to FaultUser.
const (
	FaultNone          FaultCode = iota
	FaultUnknownOpcode           // no such opcode in this kernel
	FaultOutOfWindow             // an operand lies outside the tenant's window
	FaultCopyTooLong             // a copy of more words than the cap
	FaultBadCode                 // the fault opcode's argument is not a user code
	FaultForeignTenant           // the slot's tenant is not the one this wave serves
	FaultBadOperand              // an operand that is no address has a value its opcode does not take
	FaultBadPacked               // a packed slot whose parts do not fit or may not be packed
	FaultGaveUp                  // what the slot waited for did not happen within its attempts
	FaultTooManySteps            // an operator's opcode ran past the steps it declares
	faults
	FaultUser FaultCode = 256
)

// UserFaults is the number of codes the fault opcode can raise.
const UserFaults = uint32(StatusFaultMask) - uint32(FaultUser) + 1

var faultNames = [faults]string{
	"none", "unknown opcode", "address outside window", "copy too long", "bad fault code", "foreign tenant",
	"bad operand", "malformed packed slot", "gave up waiting", "too many steps",
}

func (f FaultCode) String() string {
	switch {
	case f < faults:
		return faultNames[f]
	case f >= FaultUser:
		return fmt.Sprintf("user fault %d", uint32(f-FaultUser))
	}
	return fmt.Sprintf("fault(%d)", uint32(f))
}

// Status is the status word of a slot:
//
//	bits 0..3    state
//	bits 4..15   fault code, 0 unless the state is Fault
//	bits 16..23  attempts: waves that executed it, saturating
//	bits 24..31  age: waves that had it in their schedule and did not finish it, saturating
type Status uint32

// Bit positions and masks of a Status; a mask applies after the shift.
const (
	StatusStateMask    = 0xF
	StatusFaultShift   = 4
	StatusFaultMask    = 0xFFF
	StatusAttemptShift = 16
	StatusAttemptMask  = 0xFF
	StatusAgeShift     = 24
	StatusAgeMask      = 0xFF
)

// NewStatus is a status in state s without fault, attempts and age.
func NewStatus(s State) Status { return Status(s) }

// State is the state of the slot.
func (s Status) State() State { return State(s & StatusStateMask) }

// Fault is the fault code, FaultNone unless the state is Fault.
func (s Status) Fault() FaultCode { return FaultCode(s >> StatusFaultShift & StatusFaultMask) }

// Attempts counts the waves that executed the slot, at most 255.
func (s Status) Attempts() uint32 { return uint32(s >> StatusAttemptShift & StatusAttemptMask) }

// Age counts the waves that had the slot in their schedule and did not finish
// it, at most 255.
func (s Status) Age() uint32 { return uint32(s >> StatusAgeShift & StatusAgeMask) }

// With is the status moved to another state, without a fault code.
func (s Status) With(next State) Status {
	return s&^(StatusStateMask|StatusFaultMask<<StatusFaultShift) | Status(next)
}

// WithFault is the status moved to Fault with a code.
func (s Status) WithFault(code FaultCode) Status {
	return s.With(Fault) | Status(code&StatusFaultMask)<<StatusFaultShift
}

// Attempted is the status after one more attempt.
func (s Status) Attempted() Status {
	if s.Attempts() == StatusAttemptMask {
		return s
	}
	return s + 1<<StatusAttemptShift
}

// Aged is the status one wave older.
func (s Status) Aged() Status {
	if s.Age() == StatusAgeMask {
		return s
	}
	return s + 1<<StatusAgeShift
}

func (s Status) String() string {
	if s.State() == Fault {
		return fmt.Sprintf("fault (%s), %d attempts, age %d", s.Fault(), s.Attempts(), s.Age())
	}
	return fmt.Sprintf("%s, %d attempts, age %d", s.State(), s.Attempts(), s.Age())
}
