package ring

import "fmt"

// State is what is to be done with a slot.
type State uint32

// States of a slot. The package comment draws the transitions.
const (
	Empty     State = iota // no work here
	Published              // ready for a wave
	Done                   // executed; the result word is valid
	Yielded                // attempted, gave way, wants another wave
	Requeued               // attempted, could not proceed, wants another wave
	Fault                  // ended without effect; the fault code says why
	states
)

var stateNames = [states]string{"empty", "published", "done", "yielded", "requeued", "fault"}

func (s State) String() string {
	if s < states {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint32(s))
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
type Status uint32

// Bit positions and masks of a Status; a mask applies after the shift.
const (
	StatusStateMask    = 0xF
	StatusFaultShift   = 4
	StatusFaultMask    = 0xFFF
	StatusAttemptShift = 16
	StatusAttemptMask  = 0xFF
)

// NewStatus is a status in state s without fault and attempts.
func NewStatus(s State) Status { return Status(s) }

// State is the state of the slot.
func (s Status) State() State { return State(s & StatusStateMask) }

// Fault is the fault code, FaultNone unless the state is Fault.
func (s Status) Fault() FaultCode { return FaultCode(s >> StatusFaultShift & StatusFaultMask) }

// Attempts counts the waves that executed the slot, at most 255.
func (s Status) Attempts() uint32 { return uint32(s >> StatusAttemptShift & StatusAttemptMask) }

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

func (s Status) String() string {
	if s.State() == Fault {
		return fmt.Sprintf("fault (%s), %d attempts", s.Fault(), s.Attempts())
	}
	return fmt.Sprintf("%s, %d attempts", s.State(), s.Attempts())
}
