package megakernel

import (
	"fmt"
	"strings"

	"ringmaster/megakernel/gpu"
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

// leaseHotSoftware are the opcodes of the second kernel of a software renderer, for
// rounds that have no others. Software runs all the bodies of a kernel for every slot:
// a round of 16 took 4.6 µs with the kernel of all opcodes and 3.6 µs with this one.
// Hardware does not need it.
var leaseHotSoftware = NewOpcodeSet(OpNop, OpStore, OpAdd, OpLoad)

// leaseReadAhead is how many words each lane reads in a turn on hardware: those
// of the call and of 23 records, with leaseWidth lanes.
const leaseReadAhead = 3

// leaseWidthFor is the width for a device. A wrong guess costs time only.
func leaseWidthFor(dev gpu.Device) uint32 {
	if dev.Software() {
		return leaseWidthSoftware
	}
	return leaseWidth
}

// Words of the mailbox. The host writes the first, the call, and the kernel
// those from mailDone on; the two kinds are in different cache lines. Behind the
// call is a record for each slot of the round, and behind the kernel's words an
// outcome for each. Then come whole slots, bound as the ring's are, for opcodes
// that take more operands than a record has.
const (
	mailTail    = 0 // rings: the round's number and how many slots it has
	mailStop    = 1 // the number of the kernel that is to end
	mailTenant  = 2 // the round's tenant and its window
	mailBase    = 3 //
	mailLength  = 4 //
	mailSteps   = 5 // most loop steps of a slot of the round
	mailCost    = 6 // most loop iterations of the round
	mailCheck   = 7 // of the tail and the five before
	mailRecords = 8
	mailDone    = mailRecords + LeaseSlots*leaseRecordWords + 8 // the tail that was answered last
	mailBegun   = mailDone + 1                                  // the tail that was begun last
	mailEnded   = mailDone + 2                                  // the number of the kernel that ended last
	mailCause   = mailDone + 3                                  // why it did
	mailSpent   = mailDone + 4                                  // loop iterations it took
	mailRounds  = mailDone + 5                                  // rounds it answered
	mailResults = mailDone + 16                                 // outcomes
	mailWords   = mailResults + LeaseSlots*2
)

// mailNames are the words' names in the shader.
var mailNames = [...]struct {
	name string
	word int
}{
	{"TAIL", mailTail}, {"STOP", mailStop}, {"TENANT", mailTenant}, {"BASE", mailBase}, {"LENGTH", mailLength},
	{"STEPS", mailSteps}, {"COST", mailCost}, {"CHECK", mailCheck}, {"RECORDS", mailRecords},
	{"DONE", mailDone}, {"BEGUN", mailBegun}, {"ENDED", mailEnded},
	{"CAUSE", mailCause}, {"SPENT", mailSpent}, {"ROUNDS", mailRounds}, {"OUTCOMES", mailResults},
}

// leaseRecord is what a kernel reads of a slot, one sector of the device's
// memory. Hardware reads the first records together with the tail, because a
// read of host memory takes longer than the slot does. What it has read may be
// older than the tail, or partly so, which the check shows; it reads such a
// record again.
type leaseRecord struct {
	opcode, tenant uint32
	status         ring.Status
	args           [4]uint32
	check          uint32
}

const leaseRecordWords = 8

// leaseCheck is the check of the words of a record or call of the round with
// a tail. Words that differ in one place have different checks; so do equal words
// of different rounds.
func leaseCheck(tail uint32, words ...uint32) uint32 {
	for _, w := range words {
		tail = (tail ^ w) * leaseCheckFactor
	}
	return tail
}

const leaseCheckFactor = 0x9E3779B1 // odd, so that no step loses anything

// sum is the check of a record.
func (r *leaseRecord) sum(tail uint32) uint32 {
	return leaseCheck(tail, r.opcode, r.tenant, uint32(r.status), r.args[0], r.args[1], r.args[2], r.args[3])
}

// leaseOutcome is what a kernel writes of a slot.
type leaseOutcome struct {
	status ring.Status
	result uint32
}

// Byte offsets of the parts of the mailbox buffer. Slots are at a multiple of
// 256, which every device takes as the begin of a storage block.
const (
	mailRecordsAt  = mailRecords * ring.WordBytes
	mailOutcomesAt = mailResults * ring.WordBytes
	mailSlotsAt    = (mailWords*ring.WordBytes + 255) &^ 255
	mailBytes      = mailSlotsAt + LeaseSlots*ring.SlotBytes
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

// leaseHotFor are the opcodes of the small kernel that suits a device.
func leaseHotFor(dev gpu.Device) OpcodeSet {
	if dev.Software() {
		return leaseHotSoftware
	}
	return 0
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

// leaseSource is a resident kernel: the interpreter's opcodes, or some of them, around a
// mailbox. What the interpreter takes as uniforms comes with each round, and
// what a round writes is read by others of the same dispatch, so the blocks it
// uses have to be coherent.
func (c *Catalog) leaseSource(k Kernel) string {
	s := &source{}
	s.WriteString("#version 430 core\n")
	s.define("WIDTH", k.Width)
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
	fmt.Fprintf(s, "layout(std430, binding = %d) coherent buffer MailboxBlock {\n    uint mailbox[];\n};\n", ring.BindControl)
	for _, m := range mailNames {
		fmt.Fprintf(s, "const uint MAIL_%s = %du;\n", m.name, m.word)
	}
	fmt.Fprintf(s, "const uint RECORD_WORDS = %du;\nconst uint CHECK_FACTOR = %du;\n", leaseRecordWords, uint32(leaseCheckFactor))
	if k.Width > leaseWidthSoftware {
		s.define("READ_AHEAD", leaseReadAhead)
	}
	for cause, name := range causeNames {
		fmt.Fprintf(s, "const uint CAUSE_%s = %du;\n", name, cause)
	}
	fmt.Fprintf(s, "const uint TAIL_COUNT_MASK = %du;\n", tailCountMask)
	for _, name := range []string{"wave_tenant", "window_base", "window_length", "step_budget"} {
		fmt.Fprintf(s, "uint %s = 0u;\n", name)
	}
	user := s.opcodes(c, k.compiled(c))
	s.files("execute.glsl", "lease.comp")
	s.bodies(user)
	return s.String()
}
