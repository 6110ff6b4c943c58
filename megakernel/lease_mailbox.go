package megakernel

import (
	"fmt"
	"strings"

	"ringmaster/ring"
)

// LeaseSlots is the most slots of one round of a lease.
const LeaseSlots = 256

// Widths of the resident workgroup. Software rasterisers run its vectors one
// after another, the idle ones too, so that a narrow one answers sooner there.
const (
	leaseWidth         = 64
	leaseWidthSoftware = 16
)

// leaseWidthFor is the width for a device. A wrong guess costs time only.
func leaseWidthFor(dev Device) uint32 {
	if _, renderer, _ := dev.Identity(); hostRenderer(renderer) {
		return leaseWidthSoftware
	}
	return leaseWidth
}

// Words of the mailbox. The host writes those before mailDone, the call, and the
// kernel the others; the two kinds are in different cache lines. Behind them are
// an outcome and a record for each slot of the round, and whole slots, bound as
// the ring's are, for opcodes that take more operands than a record has.
const (
	mailTail   = 0  // rings: the round's number and how many slots it has
	mailStop   = 1  // the number of the kernel that is to end
	mailTenant = 2  // the round's tenant and its window
	mailBase   = 3  //
	mailLength = 4  //
	mailSteps  = 5  // most loop steps of a slot of the round
	mailCost   = 6  // most loop iterations of the round
	mailAgain  = 7  // the tail, before it rings
	mailDone   = 32 // the tail that was answered last
	mailBegun  = 33 // the tail that was begun last
	mailEnded  = 34 // the number of the kernel that ended last
	mailCause  = 35 // why it did
	mailSpent  = 36 // loop iterations it took
	mailRounds = 37 // rounds it answered
	mailWords  = 64
)

// mailNames are the names in the shader of the words that the kernel writes,
// which it counts from mailDone.
var mailNames = [...]struct {
	name string
	word int
}{
	{"DONE", mailDone}, {"BEGUN", mailBegun}, {"ENDED", mailEnded},
	{"CAUSE", mailCause}, {"SPENT", mailSpent}, {"ROUNDS", mailRounds},
}

// leaseRecord is what a kernel reads of a slot before it knows that there is a
// round: one sector of the device's memory. Hardware reads it together with the
// tail, because a read of host memory takes longer than the slot does. It may
// then be older than the tail. So each half says which round it belongs to, and
// a kernel that finds another round's reads the record again.
type leaseRecord struct {
	tail, opcode, tenant uint32
	status               ring.Status
	args                 [3]uint32
	again                uint32 // the tail
}

// leaseOutcome is what a kernel writes of a slot.
type leaseOutcome struct {
	status ring.Status
	result uint32
}

// Byte sizes and offsets of the parts of the mailbox buffer. Slots are at a multiple of
// 256, which every device takes as the begin of a storage block.
const (
	leaseRecordBytes  = 32
	leaseOutcomeBytes = 8
	mailOutcomesAt    = mailWords * ring.WordBytes
	mailRecordsAt     = mailOutcomesAt + LeaseSlots*leaseOutcomeBytes
	mailSlotsAt       = mailRecordsAt + LeaseSlots*leaseRecordBytes
	mailBytes         = mailSlotsAt + LeaseSlots*ring.SlotBytes
)

// A tail is a round number, which wraps and is never 0, and a count of slots.
const (
	tailCountBits = 9 // a count is 1..LeaseSlots
	tailCountMask = 1<<tailCountBits - 1
	tailRounds    = 1<<(32-tailCountBits) - 1 // round numbers are 1..tailRounds
)

// nextTail is the tail of a round of n slots that follows another.
func nextTail(tail uint32, n int) uint32 {
	round := tail>>tailCountBits%tailRounds + 1
	return round<<tailCountBits | uint32(n)
}

// leaseCause is why a kernel says that it ended.
type leaseCause uint32

const (
	causeNone  leaseCause = iota
	causeStop             // the host's stop word
	causeTurns            // its loop iterations would not cover another round
	causeIdle             // nothing came for long
	causes
)

var causeNames = [causes]string{"NONE", "STOP", "TURNS", "IDLE"}

// leaseSource is the resident kernel: the interpreter's opcodes around a
// mailbox. What the interpreter takes as uniforms comes with each round, and
// what a round writes is read by others of the same dispatch, so the blocks it
// uses have to be coherent.
func (c *Catalog) leaseSource(width uint32) string {
	s := &source{}
	s.WriteString("#version 430 core\n")
	s.define("WIDTH", width)
	prelude := ring.Prelude()
	for _, block := range []string{"SlotBlock", "HeapBlock", "PrintBlock"} {
		coherent := strings.Replace(prelude, "buffer "+block, "coherent buffer "+block, 1)
		if coherent == prelude {
			panic("megakernel: the ring's prelude has no block " + block)
		}
		prelude = coherent
	}
	// The mailbox has the place of the control block, which a lease has no use for.
	s.WriteString(prelude)
	s.WriteString(opcodePrelude())
	fmt.Fprintf(s, "layout(std430, binding = %d) coherent volatile buffer MailboxBlock {\n", ring.BindControl)
	fmt.Fprintf(s, "    uvec4 call[%d];\n    uvec4 gap[%d];\n", (mailAgain+1)/4, (mailDone-mailAgain-1)/4)
	fmt.Fprintf(s, "    uint answer[%d];\n", mailWords-mailDone)
	fmt.Fprintf(s, "    uvec2 outcomes[%d];\n    uvec4 records[%d];\n};\n", LeaseSlots, 2*LeaseSlots)
	for _, m := range mailNames {
		fmt.Fprintf(s, "const uint MAIL_%s = %du;\n", m.name, m.word-mailDone)
	}
	if width != leaseWidthSoftware {
		s.define("READ_AHEAD", 1)
	}
	for cause, name := range causeNames {
		fmt.Fprintf(s, "const uint CAUSE_%s = %du;\n", name, cause)
	}
	fmt.Fprintf(s, "const uint TAIL_COUNT_MASK = %du;\n", tailCountMask)
	for _, name := range []string{"wave_tenant", "window_base", "window_length", "step_budget"} {
		fmt.Fprintf(s, "uint %s = 0u;\n", name)
	}
	user := s.opcodes(c, c.all)
	s.files("execute.glsl", "lease.comp")
	s.bodies(user)
	return s.String()
}
