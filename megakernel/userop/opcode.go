package userop

// Ids an operator's opcode may have. Smaller numbers are built-in opcodes,
// larger ones have no bin in the kernel's counters.
const (
	MinID = 16
	MaxID = 63
)

// Opcode is one opcode as its file declares it. LoadDir has checked it: the
// body keeps the rules, and the header says about it what is true.
type Opcode struct {
	ID       uint32   // MinID to MaxID
	Name     string   // a lower-case GLSL identifier, unique in its directory
	Operands []string // names of the arguments from a0 on, at most ring.ArgWords of them

	SideEffects bool // it writes to the window
	Idempotent  bool // running a slot twice leaves the window as running it once

	// MaxSteps is the most loop iterations one slot may take, over all its
	// loops together; 0 says that the body has no loop. A slot that would take
	// more ends as a fault.
	MaxSteps uint32

	Reference string // name of a Go function in References; empty says that there is none

	Body     string // checked GLSL statements, as in the file
	File     string // path in its file system
	BodyLine int    // line of the file with which Body begins, from 1
}
