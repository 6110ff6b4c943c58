package telemetry

import (
	"fmt"

	"ringmaster/ring"
)

// Bounds of lists and texts. The schema refuses more.
const (
	MaxBatchSlots   = 64 << 10            // slots of one batch
	MaxListedSlots  = 4096                // slots of one batch that are listed one by one
	MaxRuns         = 1024                // runs of one batch
	MaxSlotArgs     = ring.ArgWords       // arguments of one slot
	MaxPriority     = ring.Priorities - 1 // least urgent slot priority
	MaxFaults       = 64                  // faults listed in one done record
	MaxPrints       = 64                  // prints in one done record
	PrintWords      = 5                   // words of a print: position of the slot in its batch, four arguments
	MaxReasons      = 16                  // reasons of one recommendation
	MaxDecided      = 32 << 10            // bytes that a recommendation has for runtimes
	MaxOpcodes      = 64                  // opcode counts of one launch report
	MaxCapabilities = 32                  // capabilities of one worker
	MaxUserOpcodes  = 48                  // operator's opcodes of one worker
	MaxUnits        = 1 << 16             // units of a device, and invocations that a unit holds
	// MaxLatencyTargetMs is the longest latency target of a queue, an hour.
	MaxLatencyTargetMs = 3_600_000
	MaxText            = 256      // bytes of a text
	MaxDetail          = 1024     // bytes of the detail of a rejected record
	FingerprintSize    = 32       // bytes of a BLAKE3-256 hash
	MaxHeapWords       = 64 << 10 // words of one transfer from or to a window
	wordBytes          = 4
)

// Record is one decoded record: the header, and the body that Header.Kind
// names. The other bodies hold what earlier records left in them.
type Record struct {
	Header
	Queue          Queue
	Graph          Graph
	Priority       Priority
	Launch         Launch
	Worker         Worker
	Recommendation Recommendation
	Work           Work
	Done           Done
	Rejected       Rejected
	Heap           Heap
	GraphRequest   GraphRequest
	Cancel         Cancel
}

// Body is what a record carries beside its header: a pointer to the struct of a kind.
type Body interface{ rows() rows }

// rows is a schema without its type parameter. The body is one of its kind.
type rows interface {
	bind(h *Header, body Body) *binding
	append(dst []byte, e Encoding, h Header, body Body) []byte
}

// Body returns the body that r.Kind names, which must be one of the kinds of this package.
func (r *Record) Body() Body {
	return [...]Body{
		KindQueue: &r.Queue, KindGraph: &r.Graph, KindPriority: &r.Priority, KindLaunch: &r.Launch,
		KindWorker: &r.Worker, KindRecommendation: &r.Recommendation, KindWork: &r.Work, KindDone: &r.Done,
		KindRejected: &r.Rejected, KindHeap: &r.Heap, KindGraphRequest: &r.GraphRequest, KindCancel: &r.Cancel,
	}[r.Kind]
}

// Validate checks the rules that involve more than one field, or a field and
// its context. Ranges of single fields are the schema's, and the Decoder has
// applied both to every record it returns; a publisher may call Validate on
// what it is about to send. The error is a sentence without a record position.
func (r *Record) Validate() error {
	switch r.Kind {
	case KindGraph:
		return r.Graph.validate()
	case KindLaunch:
		return r.Launch.validate()
	case KindDone:
		return r.Done.validate()
	case KindWork:
		return r.Work.Validate()
	case KindHeap:
		return r.Heap.validate()
	}
	return nil
}

func nameOf(names []string, code uint8, what string) string {
	if int(code) < len(names) && names[code] != "" {
		return names[code]
	}
	return fmt.Sprintf("%s(%d)", what, code)
}
