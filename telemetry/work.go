package telemetry

import (
	"fmt"
	"sync"

	"ringmaster/ring"
)

// Slot is one unit of submitted work, as the device has it: a slot that was decoded is not copied
// on its way to the ring. Opcode, priority and arguments are on the wire. Tenant and sequence are
// the worker's: they are zero in what is decoded.
type Slot = ring.Slot

// Work is a batch of slots for one queue: those of Slots first, then those of Runs.
type Work struct {
	Has Presence

	Batch       string // 1..64 of [A-Za-z0-9_-]; the de-duplication id
	Slots       []Slot // at most MaxListedSlots
	WantResults bool   // ask for the result word of every slot
	Epoch       uint64 // heap epoch the batch depends on, 0 if none
	DeadlineMs  uint32 // from when the worker takes the batch, 0 if none
	Runs        []Run  // at most MaxRuns
}

// Presence bits of Work, in schema order.
const (
	HasBatch Presence = 1 << iota
	HasSlots
	HasWantResults
	HasEpoch
	HasDeadlineMs
	HasRuns
	endWork
)

// HasAllWork are the presence bits of all fields.
const HasAllWork = endWork - 1

var workSchema = newSchema(KindWork, func(w *Work) *Presence { return &w.Has },
	token("batch", event, func(w *Work) any { return &w.Batch }).req(),
	list[Work]("slots", event, typeSlots, "-", 1, MaxListedSlots, func(w *Work) any { return &w.Slots }),
	flag("want_results", event, func(w *Work) any { return &w.WantResults }),
	u64("epoch", event, "-", func(w *Work) *uint64 { return &w.Epoch }),
	u32("deadline_ms", event, "ms", func(w *Work) *uint32 { return &w.DeadlineMs }),
	list[Work]("runs", event, typeRuns, "-", 1, MaxRuns, func(w *Work) any { return &w.Runs }),
)

// Count is the number of slots of the batch.
func (w *Work) Count() int {
	n := len(w.Slots)
	for i := range w.Runs {
		n += int(w.Runs[i].Count)
	}
	return n
}

// manySlots is from how many slots on the memory of a list is worth to be used again:
// 4096 slots are 256 KiB, which take longer to be cleared than to be filled.
const manySlots = 256

var slotLists sync.Pool // of *[]Slot

func slotList() []Slot {
	if list, ok := slotLists.Get().(*[]Slot); ok {
		return *list
	}
	return nil
}

// ReleaseSlots gives the memory of a batch's listed slots to the next batch that is decoded.
// Nothing may use it afterwards. Whoever cannot tell leaves it to the garbage collector.
func ReleaseSlots(list []Slot) {
	if cap(list) >= manySlots {
		list = list[:0]
		slotLists.Put(&list)
	}
}

// Validate checks that a batch has slots, in either form, no more than a batch may have,
// and as many words of an argument as its run has slots.
func (w *Work) Validate() error {
	if len(w.Slots) > MaxListedSlots || len(w.Runs) > MaxRuns {
		return fmt.Errorf("%d slots and %d runs, at most %d and %d", len(w.Slots), len(w.Runs), MaxListedSlots, MaxRuns)
	}
	if n := w.Count(); n < 1 || n > MaxBatchSlots {
		return fmt.Errorf("slots and runs make %d slots, want 1..%d", n, MaxBatchSlots)
	}
	if w.Has.Has(HasSlots) != (len(w.Slots) > 0) || w.Has.Has(HasRuns) != (len(w.Runs) > 0) {
		return fmt.Errorf("%d slots and %d runs, the presence bits %#x say otherwise", len(w.Slots), len(w.Runs), uint64(w.Has))
	}
	for i := range w.Runs {
		if err := w.Runs[i].validate(); err != nil {
			return fmt.Errorf("run %d: %w", i, err)
		}
	}
	return nil
}

func (w *Work) rows() rows { return workSchema }

// Fault is one slot of a batch that ended in a fault.
type Fault struct {
	Index uint32 // position in the batch
	Code  uint32 // ring fault code
}

// Done reports a finished batch.
type Done struct {
	Batch      string
	Executed   uint32
	Faulted    uint32
	Faults     []Fault  // the first MaxFaults of them
	Results    []uint32 // one per slot if the batch asked for them
	WorkSentNs int64    // sent_ns of the batch, for latency measurement
	Dropped    uint32   // slots that did not run
	Error      string   // why: "heap lost", "canceled", "deadline" or "device lost"; empty if none was dropped
	Prints     []uint32 // PrintWords for each of the first MaxPrints: position in the batch, arguments
	Printed    uint32   // print slots whose words the worker still had
}

var doneSchema = newSchema(KindDone, nil,
	token("batch", event, func(d *Done) any { return &d.Batch }).req(),
	u32("executed", event, "slots", func(d *Done) *uint32 { return &d.Executed }).to(MaxBatchSlots).req(),
	u32("faulted", event, "slots", func(d *Done) *uint32 { return &d.Faulted }).to(MaxBatchSlots).req(),
	list[Done]("faults", event, typeFaults, "-", 0, MaxFaults, func(d *Done) any { return &d.Faults }),
	list[Done]("results", event, typeU32s, "-", 0, MaxBatchSlots, func(d *Done) any { return &d.Results }),
	i64("work_sent_ns", event, "ns", func(d *Done) *int64 { return &d.WorkSentNs }),
	u32("dropped", event, "slots", func(d *Done) *uint32 { return &d.Dropped }).to(MaxBatchSlots),
	text("error", event, func(d *Done) any { return &d.Error }),
	list[Done]("prints", event, typeU32s, "-", 0, MaxPrints*PrintWords, func(d *Done) any { return &d.Prints }),
	u32("printed", event, "slots", func(d *Done) *uint32 { return &d.Printed }).to(MaxBatchSlots),
)

// validate: the lists of faults and prints are parts of those counted.
func (d *Done) validate() error {
	if len(d.Faults) > int(d.Faulted) {
		return fmt.Errorf("%d faults listed, %d counted", len(d.Faults), d.Faulted)
	}
	if n := len(d.Prints); n%PrintWords != 0 || n/PrintWords > int(d.Printed) {
		return fmt.Errorf("%d words of prints, %d counted: want %d for each", n, d.Printed, PrintWords)
	}
	return nil
}

func (d *Done) rows() rows { return doneSchema }

// CancelFound says what a worker found of a batch that is to be withdrawn.
type CancelFound uint8

// What became of a request to withdraw a batch.
const (
	CancelUnseen    CancelFound = iota // not taken yet; it will not run if it comes
	CancelWithdrawn                    // what no launch had begun is dropped
	CancelFinished                     // nothing is left to withdraw
)

var cancelFoundNames = []string{CancelUnseen: "unseen", CancelWithdrawn: "canceled", CancelFinished: "finished"}

// String returns the wire name.
func (f CancelFound) String() string { return nameOf(cancelFoundNames, uint8(f), "found") }

// Cancel asks for a batch of a queue to be withdrawn, and answers it.
type Cancel struct {
	Batch string
	Found CancelFound // of an answer
	Slots uint32      // of an answer: dropped so far
}

var cancelSchema = newSchema(KindCancel, nil,
	token("batch", event, func(c *Cancel) any { return &c.Batch }).req(),
	enum("found", event, cancelFoundNames, func(c *Cancel) any { return (*uint8)(&c.Found) }),
	u32("slots", event, "slots", func(c *Cancel) *uint32 { return &c.Slots }).to(MaxBatchSlots),
)

func (c *Cancel) rows() rows { return cancelSchema }

// Outcome says what became of a submitted batch, so that the consumer of the
// work stream knows how to acknowledge it.
type Outcome uint8

// Outcomes of a batch.
const (
	OutcomeDone      Outcome = iota // executed and its done record is with the server: acknowledge
	OutcomeDuplicate                // executed before: acknowledge
	OutcomeRefused                  // will never run: terminate, and say why on the rejected subject
	OutcomeRetry                    // not run here (shutdown, a fault of this process): let it be delivered again
	OutcomeBusy                     // not settled for now, for reasons that are not the batch's: hand it over again later
	OutcomeQueueBusy                // not settled for now for reasons of its queue, over its quota or stopped: hand it over again later, but refuse it if many of the queue wait
)

// String is a word for what became of the batch here.
func (o Outcome) String() string {
	switch o {
	case OutcomeDone:
		return "done"
	case OutcomeDuplicate:
		return "duplicate"
	case OutcomeRefused:
		return "refused"
	default:
		return "given_back"
	}
}
