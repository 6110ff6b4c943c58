package megakernel

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

// CopyCap is the most words one copy moves; a longer one faults. It bounds the
// loop steps of a slot, so that a wave of copies fits the loop budget.
const CopyCap = 1024

// MaxAttempts is the most attempts a yield or await may ask for: where the
// count in a status word saturates.
const MaxAttempts = ring.StatusAttemptMask

// firstUser is the first number of operators' opcodes.
const firstUser = Opcode(userop.MinID)

// builtins are the built-in opcodes by number.
var builtins = [...]struct {
	op   Opcode
	name string
	args int // argument words it reads
	part bool
}{
	{OpNop, "nop", 0, true},
	{OpStore, "store", 2, true},
	{OpAdd, "add", 2, true},
	{OpLoad, "load", 1, true},
	{OpCompareSwap, "compare_swap", 3, true},
	{OpCopy, "copy", 3, false},
	{OpFault, "fault", 1, false},
	{OpFence, "fence", 0, false},
	{OpPrint, "print", ring.PrintArgs, false},
	{OpPacked, "packed", ring.ArgWords, false},
	{OpYield, "yield", 1, false},
	{OpAwait, "await", 3, false},
}

// packable reports whether an opcode may be a part of a packed slot: it takes
// at most one step and always ends. args is the number of its argument words.
func (o Opcode) packable() (args int, ok bool) {
	if int(o) < len(builtins) && builtins[o].part {
		return builtins[o].args, true
	}
	return 0, false
}

func (o Opcode) String() string {
	if int(o) < len(builtins) {
		return builtins[o].name
	}
	return fmt.Sprintf("opcode(%d)", uint32(o))
}

// opcodePrelude is the opcode numbers and caps as GLSL.
func opcodePrelude() string {
	var b strings.Builder
	constant := func(name string, value uint32) {
		fmt.Fprintf(&b, "const uint %s = %du;\n", name, value)
	}
	for _, known := range builtins {
		constant("OP_"+strings.ToUpper(known.name), uint32(known.op))
	}
	constant("FIRST_USER_OPCODE", uint32(firstUser))
	constant("COPY_CAP", CopyCap)
	constant("MAX_ATTEMPTS", MaxAttempts)
	constant("PACKED_MAX", PackedMax)
	// What stands in place of a fault code for a slot without a final state.
	constant("NOT_REACHED", uint32(notReached))
	constant("YIELDED", uint32(yielded))
	constant("REQUEUED", uint32(requeued))
	return b.String()
}
