package userop

// Ids an operator's opcode may have. Smaller numbers are built-in opcodes,
// larger ones have no bin in the kernel's counters.
const (
	MinID = 16
	MaxID = 63
)

// NoOperand is the StepsOperand of an opcode whose steps no operand bounds.
const NoOperand = -1

// Opcode is one opcode as its file declares it. LoadDir has checked it: the
// body keeps the rules, and the header says about it what is true.
type Opcode struct {
	ID       uint32   // MinID to MaxID
	Name     string   // unique in its directory
	Operands []string // names of the arguments from a0 on, at most 12

	SideEffects bool // it writes to the window
	Reads       bool // it may depend on what the window holds
	Idempotent  bool // running a slot twice leaves the window as running it once

	// MaxSteps is the most turns one slot may take, over all its loops
	// together; 0 says that the body has no loop. A slot that would take more
	// ends as a fault.
	MaxSteps uint32
	// StepsOperand is the index of the operand that bounds the steps of a slot
	// more closely, or NoOperand. A slot whose operand exceeds MaxSteps ends as
	// a fault before it has done anything.
	StepsOperand int
	Loops        int  // loops in the text of the body
	Nested       bool // one of them lies within another

	Reference string // name of a Go function in References; empty says that there is none

	Body     string // checked GLSL statements, as in the file, comments blanked
	File     string // path in its file system
	BodyLine int    // line of the file with which Body begins, from 1

	text             string // Body as it is compiled; empty: Body
	steps            string // the operand's name while the header is read
	idLine, nameLine int    // lines of the header, for errors about two files
}

// Steps is the most steps a slot with these arguments takes. It is 0 for one
// that ends as a fault at once because its operand exceeds MaxSteps.
func (o *Opcode) Steps(args *[12]uint32) uint32 {
	if o.StepsOperand == NoOperand {
		return o.MaxSteps
	}
	if steps := args[o.StepsOperand]; steps <= o.MaxSteps {
		return steps
	}
	return 0
}

// maxLanes is the widest vector in which a software rasteriser runs
// invocations: 512 bits.
const maxLanes = 16

// VectorSteps is the most loop iterations that a vector of invocations needs
// for slots of this opcode of at most steps each. Mesa's llvmpipe runs the
// invocations of a vector in step: an iteration of any is one of all. A single
// loop takes as many as its longest invocation. Of several loops each may have
// another longest one, and an inner loop another one in each turn of the outer.
func (o *Opcode) VectorSteps(steps uint32) uint32 {
	if o.Nested {
		return steps * maxLanes
	}
	return steps * uint32(min(o.Loops, maxLanes))
}
