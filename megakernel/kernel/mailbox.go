package kernel

import (
	"fmt"
	"strings"

	"ringmaster/megakernel/gpu"
	"ringmaster/ring"
)

// MailSlots is the most slots of one round of a lease.
const MailSlots = 256

// Widths of the resident workgroup. Software rasterisers run its vectors one
// after another, the idle ones too, so that a narrow one answers sooner there.
const (
	LeaseWidth         = 64
	LeaseWidthSoftware = 16
)

// leaseReadAhead is how many words each lane reads in a turn on hardware: those
// of the call and of 23 records, with LeaseWidth lanes.
const leaseReadAhead = 3

// LeaseWidthFor is the width for a device. A wrong guess costs time only.
func LeaseWidthFor(t *gpu.Traits) uint32 {
	if t.Software {
		return LeaseWidthSoftware
	}
	return LeaseWidth
}

// Words of the mailbox. The host writes the first, the call, and the kernel
// those from MailDone on; the two kinds are in different cache lines. Behind the
// call is a record for each slot of the round, and behind the kernel's words an
// outcome for each. Then come whole slots, bound as the ring's are, for opcodes
// that take more operands than a record has.
const (
	MailTail    = 0 // rings: the round's number and how many slots it has
	MailStop    = 1 // the number of the kernel that is to end
	MailTenant  = 2 // the round's tenant and its window
	MailBase    = 3 //
	MailLength  = 4 //
	MailSteps   = 5 // most loop steps of a slot of the round
	MailCost    = 6 // most loop iterations of the round
	MailCheck   = 7 // of the tail and the five before
	MailRecords = 8
	MailDone    = MailRecords + MailSlots*MailRecordWords + 8 // the tail that was answered last
	MailBegun   = MailDone + 1                                // the tail that was begun last
	MailEnded   = MailDone + 2                                // the number of the kernel that ended last
	MailCause   = MailDone + 3                                // why it did
	MailSpent   = MailDone + 4                                // loop iterations it took
	MailRounds  = MailDone + 5                                // rounds it answered
	MailResults = MailDone + 16                               // outcomes
	MailWords   = MailResults + MailSlots*2
)

// mailNames are the words' names in the shader.
var mailNames = [...]struct {
	name string
	word int
}{
	{"TAIL", MailTail}, {"STOP", MailStop}, {"TENANT", MailTenant}, {"BASE", MailBase}, {"LENGTH", MailLength},
	{"STEPS", MailSteps}, {"COST", MailCost}, {"CHECK", MailCheck}, {"RECORDS", MailRecords},
	{"DONE", MailDone}, {"BEGUN", MailBegun}, {"ENDED", MailEnded},
	{"CAUSE", MailCause}, {"SPENT", MailSpent}, {"ROUNDS", MailRounds}, {"OUTCOMES", MailResults},
}

// MailRecord is what a kernel reads of a slot, one sector of the device's
// memory. Hardware reads the first records together with the tail, because a
// read of host memory takes longer than the slot does. What it has read may be
// older than the tail, or partly so, which the check shows; it reads such a
// record again.
type MailRecord struct {
	Opcode, Tenant uint32
	Status         ring.Status
	Args           [RecordArgs]uint32
	Check          uint32
}

const MailRecordWords = 8

// MailSum is the check of the words of a record or call of the round with
// a tail. Words that differ in one place have different checks; so do equal words
// of different rounds.
func MailSum(tail uint32, words ...uint32) uint32 {
	for _, w := range words {
		tail = (tail ^ w) * mailCheckFactor
	}
	return tail
}

const mailCheckFactor = 0x9E3779B1 // odd, so that no step loses anything

// Sum is the check of a record.
func (r *MailRecord) Sum(tail uint32) uint32 {
	return MailSum(tail, r.Opcode, r.Tenant, uint32(r.Status), r.Args[0], r.Args[1], r.Args[2], r.Args[3])
}

// MailOutcome is what a kernel writes of a slot.
type MailOutcome struct {
	Status ring.Status
	Result uint32
}

// Byte offsets of the parts of the mailbox buffer. Slots are at a multiple of
// 256, which every device takes as the begin of a storage block.
const (
	MailRecordsAt  = MailRecords * ring.WordBytes
	MailOutcomesAt = MailResults * ring.WordBytes
	MailSlotsAt    = (MailWords*ring.WordBytes + 255) &^ 255
	MailBytes      = MailSlotsAt + MailSlots*ring.SlotBytes
)

// A tail is a round number, which wraps and is never 0, and a count of slots.
const (
	TailCountBits = 9 // a count is 1..MailSlots
	TailCountMask = 1<<TailCountBits - 1
	TailRounds    = 1<<(32-TailCountBits) - 1 // round numbers are 1..TailRounds
)

// NextTail is the tail of a round of n slots that follows another.
func NextTail(tail uint32, n int) uint32 {
	round := tail>>TailCountBits%TailRounds + 1
	return round<<TailCountBits | uint32(n)
}

// Cause is why a kernel says that it ended.
type Cause uint32

const (
	CauseNone  Cause = iota
	CauseStop        // the host's stop word
	CauseTurns       // its loop iterations would not cover another round
	CauseIdle        // nothing came for long
	causes
)

var causeNames = [causes]string{"NONE", "STOP", "TURNS", "IDLE"}

// leaseSource is a resident kernel: the interpreter's opcodes around a
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
			panic("kernel: the ring's prelude has no block " + block)
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
	fmt.Fprintf(s, "const uint RECORD_WORDS = %du;\nconst uint CHECK_FACTOR = %du;\n", MailRecordWords, uint32(mailCheckFactor))
	if k.Width > LeaseWidthSoftware {
		s.define("READ_AHEAD", leaseReadAhead)
	}
	for cause, name := range causeNames {
		fmt.Fprintf(s, "const uint CAUSE_%s = %du;\n", name, cause)
	}
	fmt.Fprintf(s, "const uint TAIL_COUNT_MASK = %du;\n", TailCountMask)
	for _, name := range []string{"wave_tenant", "window_base", "window_length", "step_budget"} {
		fmt.Fprintf(s, "uint %s = 0u;\n", name)
	}
	user := s.opcodes(c, c.Compiled(k))
	s.files("execute.glsl", "lease.comp")
	s.bodies(user)
	return s.String()
}
