package kernel

import (
	"fmt"
	"strings"

	"ringmaster/megakernel/userop"
	"ringmaster/ring"
)

// Opcode says what a slot does. Operands are the slot's arguments a0, a1, …;
// addresses are word offsets into the tenant's window.
type Opcode uint32

// Built-in opcodes. Numbers 0 to 5 and 7 are those of the original ring. 12 is
// kept for expanding a frontier and 13 to 15 for further built-in opcodes;
// operators' own have userop.MinID to userop.MaxID. Every number without a
// meaning faults.
const (
	OpNop         Opcode = 0  // nothing
	OpStore       Opcode = 1  // window[a1] = a0
	OpAdd         Opcode = 2  // window[a1] += a0, atomically, wraps
	OpLoad        Opcode = 3  // result = window[a0]
	OpCompareSwap Opcode = 4  // result = window[a0]; if it is a1, window[a0] = a2; atomically
	OpCopy        Opcode = 5  // window[a1 + i] = window[a0 + i] for i = 0 .. a2 - 1 in that order
	OpFault       Opcode = 6  // ends in the user fault code a0, which is below ring.UserFaults
	OpFence       Opcode = 7  // what follows it in the batch runs after everything before it
	OpPrint       Opcode = 8  // a0 .. a3 go to the print log, with the slot's sequence and tenant
	OpPacked      Opcode = 9  // up to PackedMax small operations one after the other, see Part
	OpYield       Opcode = 10 // gives way to other work a0 times, at most MaxAttempts, then it is done
	OpAwait       Opcode = 11 // done when window[a0] is a1, which is the result; else requeued, a2 attempts at most, 1 to MaxAttempts
)

// FirstUser is the first number of operators' opcodes.
const FirstUser = Opcode(userop.MinID)

// CopyCap is the most words one copy moves; a longer one faults. It bounds the
// loop steps of a slot, so that a wave of copies fits the loop budget.
const CopyCap = 1024

// MaxAttempts is the most attempts a yield or await may ask for: where the
// count in a status word saturates.
const MaxAttempts = ring.StatusAttemptMask

// RecordArgs is how many arguments of a slot a lease sends along with the slot's
// record; a kernel that needs more reads the whole slot.
const RecordArgs = 4

// args are the arguments of a slot.
type args = [ring.ArgWords]uint32

// words is how many words of the window an operation touches.
type words func(a *args) uint32

func one(*args) uint32     { return 1 }
func third(a *args) uint32 { return a[2] }
func (w words) of(a *args) uint32 {
	if w == nil {
		return 0
	}
	return w(a)
}

// row is all that the host knows about a built-in opcode. What it does is said twice,
// in Go (reference_execute.go) and in GLSL (shaders/execute.glsl); a test compares the
// two, and the kernels' constants are printed from here.
type row struct {
	op       Opcode
	name     string
	operands []string // names of the arguments it reads, in order

	reads  words // read from address a0 on; nil: none
	writes words // written from address a1 on; nil: none. Its steps are the larger of the two
	varies bool  // slots of it differ in their steps

	// fault is what operands other than addresses deserve on every window; nil: nothing.
	fault func(a *args) ring.FaultCode

	forgets  bool // it does the same on a heap of zeros: it reads no word that it has not written
	packable bool // it may be a part of a packed slot: at most one step, and it always ends
	fusable  bool // it is work that a fused kernel may have the body of
	again    bool // it may go round again
	sequence bool // it reads the slot's sequence, which a lease's record has not
}

// rows are the built-in opcodes by number.
var rows = [...]row{
	{op: OpNop, name: "nop", forgets: true, packable: true, fusable: true},
	{op: OpStore, name: "store", operands: []string{"value", "address"}, writes: one, forgets: true, packable: true, fusable: true},
	{op: OpAdd, name: "add", operands: []string{"value", "address"}, writes: one, packable: true, fusable: true},
	{op: OpLoad, name: "load", operands: []string{"address"}, reads: one, packable: true, fusable: true},
	{op: OpCompareSwap, name: "compare_swap", operands: []string{"address", "expected", "value"}, reads: one, packable: true, fusable: true},
	{op: OpCopy, name: "copy", operands: []string{"from", "to", "words"}, reads: third, writes: third, varies: true, fusable: true,
		fault: func(a *args) ring.FaultCode { return faultIf(a[2] > CopyCap, ring.FaultCopyTooLong) }},
	{op: OpFault, name: "fault", operands: []string{"code"}, forgets: true,
		fault: func(a *args) ring.FaultCode { return faultIf(a[0] >= ring.UserFaults, ring.FaultBadCode) }},
	{op: OpFence, name: "fence", forgets: true},
	{op: OpPrint, name: "print", operands: []string{"first", "second", "third", "fourth"}, forgets: true, fusable: true, sequence: true},
	{op: OpPacked, name: "packed", operands: ArgNames[:], varies: true, fusable: true}, // its fault: packed.go
	{op: OpYield, name: "yield", operands: []string{"times"}, forgets: true, fusable: true, again: true,
		fault: func(a *args) ring.FaultCode { return faultIf(a[0] > MaxAttempts, ring.FaultBadOperand) }},
	{op: OpAwait, name: "await", operands: []string{"address", "value", "attempts"}, reads: one, fusable: true, again: true,
		fault: func(a *args) ring.FaultCode { return faultIf(a[2] < 1 || a[2] > MaxAttempts, ring.FaultBadOperand) }},
}

// ArgNames are the arguments of any slot by their place.
var ArgNames = [ring.ArgWords]string{"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11"}

func faultIf(broken bool, code ring.FaultCode) ring.FaultCode {
	if broken {
		return code
	}
	return ring.FaultNone
}

// row is that of a built-in opcode, nil for any other number.
func (o Opcode) row() *row {
	if int(o) < len(rows) {
		return &rows[o]
	}
	return nil
}

// steps is how many words a built-in opcode moves one after the other.
func (r *row) steps(a *args) uint32 { return max(r.reads.of(a), r.writes.of(a)) }

// rowsWith are the built-in opcodes for which something holds.
func rowsWith(holds func(*row) bool) (set OpcodeSet) {
	for i := range rows {
		if holds(&rows[i]) {
			set |= 1 << rows[i].op
		}
	}
	return set
}

// userNumbers are the numbers of operators' opcodes.
const userNumbers OpcodeSet = 1<<ring.OpcodeBins - 1<<FirstUser

// Sets of opcodes by what their rows say.
var (
	// Varying are those of which each slot has steps of its own.
	Varying = rowsWith(func(r *row) bool { return r.varies }) | userNumbers
	// WholeSlot are those for which a kernel reads more of a slot than a lease's record has.
	WholeSlot = rowsWith(func(r *row) bool { return len(r.operands) > RecordArgs || r.sequence }) | userNumbers
	// Fusable are those that a fused kernel may have: fences, which no kernel executes,
	// and faults, which are not work, are not among them.
	Fusable = rowsWith(func(r *row) bool { return r.fusable }) | userNumbers
	// Once are those of which every slot is done in the first wave that reaches it.
	Once = rowsWith(func(r *row) bool { return r.fusable && !r.again }) | userNumbers

	packable = rowsWith(func(r *row) bool { return r.packable })
	forgets  = rowsWith(func(r *row) bool { return r.forgets })
)

func (o Opcode) String() string {
	if r := o.row(); r != nil {
		return r.name
	}
	return fmt.Sprintf("opcode(%d)", uint32(o))
}

// opcodePrelude is the opcode numbers and caps as GLSL.
func opcodePrelude() string {
	var b strings.Builder
	constant := func(name string, value uint32) {
		fmt.Fprintf(&b, "const uint %s = %du;\n", name, value)
	}
	for i := range rows {
		constant("OP_"+strings.ToUpper(rows[i].name), uint32(rows[i].op))
	}
	constant("FIRST_USER_OPCODE", uint32(FirstUser))
	constant("COPY_CAP", CopyCap)
	constant("MAX_ATTEMPTS", MaxAttempts)
	constant("PACKED_MAX", PackedMax)
	// What stands in place of a fault code for a slot without a final state.
	constant("NOT_REACHED", uint32(notReached))
	constant("YIELDED", uint32(yielded))
	constant("REQUEUED", uint32(requeued))
	return b.String()
}
