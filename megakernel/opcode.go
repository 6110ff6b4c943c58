package megakernel

import (
	"fmt"
	"strings"
)

// Opcode says what a slot does. Operands are the slot's first arguments a0,
// a1 and a2; addresses are word offsets into the tenant's window.
type Opcode uint32

// Opcodes of the interpreter. Numbers 0 to 5 and 7 are those of the original
// ring; 4, its compare-swap, is not built yet and faults like every number
// that is not listed. 8 to 15 are kept for further built-in opcodes, numbers
// from 16 on for operators' own.
const (
	OpNop   Opcode = 0 // nothing
	OpStore Opcode = 1 // window[a1] = a0
	OpAdd   Opcode = 2 // window[a1] += a0, atomically, wraps
	OpLoad  Opcode = 3 // result = window[a0]
	OpCopy  Opcode = 5 // window[a1 + i] = window[a0 + i] for i = 0 .. a2 - 1 in that order
	OpFault Opcode = 6 // ends in the user fault code a0, which is below ring.UserFaults
	OpFence Opcode = 7 // what follows it in the batch runs after everything before it
)

// CopyCap is the most words one copy moves; a longer one faults. It bounds the
// loop steps of a slot, so that a wave of copies fits the loop budget.
const CopyCap = 1024

var opcodes = []struct {
	op   Opcode
	name string
}{
	{OpNop, "nop"},
	{OpStore, "store"},
	{OpAdd, "add"},
	{OpLoad, "load"},
	{OpCopy, "copy"},
	{OpFault, "fault"},
	{OpFence, "fence"},
}

func (o Opcode) String() string {
	for _, known := range opcodes {
		if known.op == o {
			return known.name
		}
	}
	return fmt.Sprintf("opcode(%d)", uint32(o))
}

// opcodePrelude is the opcode numbers and caps as GLSL.
func opcodePrelude() string {
	var b strings.Builder
	for _, known := range opcodes {
		fmt.Fprintf(&b, "const uint OP_%s = %du;\n", strings.ToUpper(known.name), uint32(known.op))
	}
	fmt.Fprintf(&b, "const uint COPY_CAP = %du;\n", CopyCap)
	return b.String()
}
