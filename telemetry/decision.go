package telemetry

import (
	"hash/crc32"
	"reflect"

	"ringmaster/megakernel/policy"
)

// # The decision log
//
// A decision log holds, for every decision, what it was made from and what
// came of it, so that policy.Decide gives the same result again at any later
// time, on any machine. It is a sequence of msgpack values back to back, each
// a map of two keys in this order, of which the first says what it is:
//
//	{"ringmaster_decisions": header, "crc32c": sum}  begins a section
//	{"decision": entry, "crc32c": sum}               a decision under the header before it
//
// The sum is the CRC-32C of all bytes of the map before the key crc32c. It
// tells a damaged log from a decision that does not replay, and where a
// process died while it wrote. Values of another kind, with a sum, are
// stepped over.
//
// A process writes a header when it opens a log, and again wherever a reader
// may begin: at the start of every file and of every message of a stream. Any
// concatenation of logs is a log.
//
// Header and entry are maps whose keys are the fields of DecisionHeader and
// DecisionEntry in snake_case (JITQueueLenThreshold is
// jit_queue_len_threshold, Records.SentNs is sent_ns inside of records), and
// so on for the structs of package policy inside of them. The rules:
//
//   - A field that is zero is left out, and a key that is missing is zero.
//     This is how a log outlives a new field: the switch that an old log does
//     not name is off.
//   - Integers are written in the shortest form and accepted in every form
//     that holds a value in the range of the Go type. Nothing is narrowed.
//   - Enumerations are written by name, so their numbers may change.
//     Bit sets, such as request.present, are integers.
//   - A fixed array is a list without the zeros at its end.
//   - Texts are UTF-8: tokens of at most MaxToken bytes for worker and queue,
//     at most MaxDecisionText bytes for the others.
//   - A key may occur once in a map. An unknown key is stepped over and
//     remembered, see DecisionReader.Unknown: a newer version wrote it, and
//     the decision may have depended on it.
//   - A value of the log is at most MaxDecisionBytes long.
//
// The version in the header's field format changes only if these rules do.

// DecisionFormat is the version of the format that this package writes and the
// only one it reads.
const DecisionFormat = 1

// Bounds of a decision log.
const (
	MaxDecisionBytes = 16 << 10 // bytes of a header or entry
	MaxDecisionText  = 1024     // bytes of an error or a version
)

// DecisionHeader begins a section of a decision log.
type DecisionHeader struct {
	Format      uint32 // DecisionFormat; AppendDecisionHeader sets it
	Incarnation uint64 // of the process that decided
	Software    string // its version, for people
	Config      policy.Config
}

// DecisionRecords names the telemetry that a decision answered.
type DecisionRecords struct {
	Incarnation uint64 // of the publisher
	First, Last uint64 // sequence numbers
	SentNs      int64  // of the last one, Unix nanoseconds by the publisher's clock
}

// DecisionEntry is one decision: policy.Decide under the header's Config, on
// Request and Before, gave Plan, After and Error.
type DecisionEntry struct {
	Worker, Queue string
	Decision      uint64 // counts the decisions of the queue from 1, until it has been idle for long
	Records       DecisionRecords
	Request       policy.Request
	Before        policy.State
	Plan          policy.Recommendation // zero if Error is not empty
	After         policy.State
	Error         string // why there is no plan
	// Undecided says that the policy was not asked, because the device limits
	// were not known yet; Before and After are then equal.
	Undecided bool
	// Director says that a kernel decided, and that it decided only the topology of one
	// level of a graph job: policy.Classify gives Plan's topologies, signals and first
	// reason and After's topology; everything else in them is zero. Decision is then the
	// one that the job began with, Job tells the jobs of a process apart, and Level counts
	// from 0.
	Director bool
	Job      uint64
	Level    uint32
}

// The keys of a value of a log. The header's is long enough to be searched for
// after damage.
const (
	decisionHeaderKey = "ringmaster_decisions"
	decisionEntryKey  = "decision"
	decisionSumKey    = "crc32c"
)

// decisionMap is the head of a map of two.
const decisionMap = "\x82"

var (
	decisionHeaderMark = decisionMap + wireKey(decisionHeaderKey)
	decisionEntryMark  = decisionMap + wireKey(decisionEntryKey)
	decisionSumMark    = wireKey(decisionSumKey)

	decisionHeaderLayout = layoutOf(reflect.TypeFor[DecisionHeader](), "")
	decisionEntryLayout  = layoutOf(reflect.TypeFor[DecisionEntry](), "")

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// AppendDecisionHeader appends a header with the format of this package to dst
// and returns it.
func AppendDecisionHeader(dst []byte, h *DecisionHeader) []byte {
	own := *h
	own.Format = DecisionFormat
	return appendDecisionValue(dst, decisionHeaderMark, decisionHeaderLayout, reflect.ValueOf(&own).Elem())
}

// AppendDecision appends an entry to dst and returns it. Texts are cut to
// their bound. It does not allocate if dst has room.
func AppendDecision(dst []byte, e *DecisionEntry) []byte {
	return appendDecisionValue(dst, decisionEntryMark, decisionEntryLayout, reflect.ValueOf(e).Elem())
}

func appendDecisionValue(dst []byte, mark string, l *layout, v reflect.Value) []byte {
	e := encoders.Get().(*encoder)
	e.out = append(dst, mark...)
	e.layout(l, v)
	sum := crc32.Checksum(e.out[len(dst):], castagnoli)
	e.out = append(e.out, decisionSumMark...)
	_ = e.EncodeUint(uint64(sum))
	out := e.out
	e.out = nil
	encoders.Put(e)
	return out
}

// layout writes a value; see layoutOf for what the kinds mean.
func (e *encoder) layout(l *layout, v reflect.Value) {
	switch l.kind {
	case layoutUint:
		_ = e.EncodeUint(v.Uint())
	case layoutInt:
		_ = e.EncodeInt(v.Int())
	case layoutBool:
		_ = e.EncodeBool(v.Bool())
	case layoutText:
		_ = e.EncodeString(cut(v.String(), MaxDecisionText))
	case layoutName:
		_ = e.EncodeString(l.name(v))
	case layoutList:
		n := v.Len()
		for n > 0 && v.Index(n-1).IsZero() {
			n--
		}
		_ = e.EncodeArrayLen(n)
		for i := range n {
			e.layout(l.elem, v.Index(i))
		}
	case layoutGroup:
		n := 0
		for i := range l.fields {
			if !v.Field(i).IsZero() {
				n++
			}
		}
		_ = e.EncodeMapLen(n)
		for i := range l.fields {
			if at := v.Field(i); !at.IsZero() {
				e.out = append(e.out, l.fields[i].wireKey...)
				e.layout(l.fields[i].layout, at)
			}
		}
	}
}
