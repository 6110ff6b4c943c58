package client

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

const (
	maxKept        = 1 << 14 // newest records, of all queues and workers
	maxLaunches    = 1 << 12 // launch reports that wait
	payloadRecords = 256     // in one payload; the longest record is 90 values, a receiver's bound is on values
	longestRecord  = 4 << 10 // bytes
)

// key is what an outbox keeps one record of.
type key struct {
	worker, queue string
	kind          telemetry.Kind
}

// report is the newest record of its key, or a launch report. It does not change.
type report struct {
	key
	subject string
	record  telemetry.Record
}

// outbox decides what a publisher sends: of what was reported, and of what became of it. It knows no connection
// and no clock. It may be used by several goroutines, and is never locked while something is written.
//
// Every record that was put is due until it is taken, replaced by a newer one of its key, or, of launch reports, one
// of too many. What was taken and failed is due again, and a session that is new makes all that is kept due.
type outbox struct {
	takeOver bool // every record replaces another publisher that is live

	mu       sync.Mutex
	closed   bool // nothing more is taken
	kept     map[key]*report
	due      map[key]struct{} // of kept
	launches []*report        // that are due, oldest first
	subjects map[string]bool  // that were reported on
	session  uint64           // in which all that is kept was due; 0: none
	stats    PublisherStats   // but Waiting
	judge    judge
}

func newOutbox(takeOver bool) outbox {
	return outbox{takeOver: takeOver, kept: make(map[key]*report), due: make(map[key]struct{}), subjects: make(map[string]bool)}
}

// put takes a record of a moment, in nanoseconds. The error says why it is not taken; nothing has changed then.
func (o *outbox) put(k key, subject string, sentNs int64, r *telemetry.Record) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return natsio.ErrClosed
	}
	next := &report{key: k, subject: subject}
	if old := o.kept[k]; old != nil {
		next.record = old.record
	} else if k.kind != telemetry.KindLaunch && len(o.kept) >= maxKept {
		return fmt.Errorf("%w: %d records are kept", natsio.ErrBacklog, len(o.kept))
	}
	next.record.Header = telemetry.Header{Kind: k.kind, Incarnation: 1, Seq: 1, SentNs: sentNs}
	if err := merge(&next.record, r, o.takeOver); err != nil {
		return err
	}
	if err := o.judge.take(&next.record); err != nil {
		return err
	}
	if k.kind == telemetry.KindLaunch {
		o.launches = append(o.launches, next)
		o.boundLaunches()
	} else {
		o.kept[k], o.due[k] = next, struct{}{}
	}
	if len(o.subjects) < maxKept {
		o.subjects[subject] = true
	}
	return nil
}

// take empties what is due, in the order in which it goes out: subject by subject, and of a subject by falling kind,
// so that the queue records, which have the runtime decide, are last. A session is not 0.
func (o *outbox) take(session uint64) []*report {
	o.mu.Lock()
	defer o.mu.Unlock()
	if session != o.session {
		o.session = session
		o.makeDue(0)
	}
	out := o.launches
	for k := range o.due {
		out = append(out, o.kept[k])
	}
	o.launches = nil
	clear(o.due)
	slices.SortStableFunc(out, func(a, b *report) int {
		return cmp.Or(strings.Compare(a.subject, b.subject), cmp.Compare(b.kind, a.kind), strings.Compare(a.queue, b.queue))
	})
	return out
}

// again makes kept records due, of one kind or, with 0, of all.
func (o *outbox) again(kind telemetry.Kind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.makeDue(kind)
}

// makeDue makes kept records due, of one kind or, with 0, of all. Called with mu held.
func (o *outbox) makeDue(kind telemetry.Kind) {
	for k := range o.kept {
		if kind == 0 || k.kind == kind {
			o.due[k] = struct{}{}
		}
	}
}

// wrote notes what became of the first n records that were taken, and returns the others. After an error other than
// that they are too large, all of them are due again, and it returns the error.
func (o *outbox) wrote(taken []*report, n int, err error) ([]*report, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil:
		o.stats.Sent += uint64(n)
	case errors.Is(err, nats.ErrMaxPayload):
		o.stats.Dropped += uint64(n)
	default:
		o.session = 0
		launches := slices.DeleteFunc(taken, func(r *report) bool { return r.kind != telemetry.KindLaunch })
		o.launches = append(launches, o.launches...)
		o.boundLaunches()
		return nil, err
	}
	return taken[n:], nil
}

// denied is why the server refuses a subject that was reported on, of the reasons by subject, or nil.
func (o *outbox) denied(reasons map[string]error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for subject, err := range reasons {
		if o.subjects[subject] {
			return err
		}
	}
	return nil
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

// boundLaunches gives up the oldest launch reports of too many. Called with mu held.
func (o *outbox) boundLaunches() {
	if over := len(o.launches) - maxLaunches; over > 0 {
		o.launches = slices.Delete(o.launches, 0, over)
		o.stats.Dropped += uint64(over)
	}
}

// payload encodes the first records that share a payload of at most limit bytes, and returns how many they are.
func payload(due []*report, limit int, encode func([]byte, *report) []byte) (bytes []byte, records int) {
	for i, r := range due[:min(len(due), payloadRecords)] {
		if i > 0 && (r.subject != due[0].subject || len(bytes)+longestRecord > limit) {
			return bytes, i
		}
		bytes = encode(bytes, r)
		records = i + 1
	}
	return bytes, records
}

// merge sets what a report carries in whole. Taking over is an event, which merging of records leaves out.
func merge(whole, r *telemetry.Record, takeOver bool) error {
	switch r.Kind {
	case telemetry.KindWorker:
		whole.Worker = r.Worker
		whole.Worker.Capabilities, whole.Worker.Opcodes = slices.Clone(r.Worker.Capabilities), slices.Clone(r.Worker.Opcodes)
	case telemetry.KindLaunch:
		whole.Launch = r.Launch
		whole.Launch.OpcodeCounts, whole.Launch.Fingerprint = slices.Clone(r.Launch.OpcodeCounts), slices.Clone(r.Launch.Fingerprint)
	case telemetry.KindQueue:
		if fell(&r.Queue, &whole.Queue) {
			return &telemetry.RecordError{
				Kind: telemetry.KindQueue, Reason: telemetry.ReasonInconsistent,
				Err: errors.New("a counter fell; counters are cumulative for the publisher's life"),
			}
		}
		whole.Queue.Merge(&r.Queue)
	case telemetry.KindGraph:
		whole.Graph.Merge(&r.Graph)
	case telemetry.KindPriority:
		whole.Priority.Merge(&r.Priority)
	default:
		return fmt.Errorf("a %v record is not for publishers; queue, graph, priority, launch and worker are", r.Kind)
	}
	if takeOver || r.Queue.TakeOver || r.Graph.TakeOver || r.Priority.TakeOver { // the body of the kind is the one that is sent
		whole.Queue.TakeOver, whole.Queue.Has = true, whole.Queue.Has|telemetry.HasQueueTakeOver
		whole.Graph.TakeOver, whole.Graph.Has = true, whole.Graph.Has|telemetry.HasGraphTakeOver
		whole.Priority.TakeOver, whole.Priority.Has = true, whole.Priority.Has|telemetry.HasPriorityTakeOver
	}
	return nil
}

// fell reports whether a cumulative counter of a queue has fallen.
func fell(q, last *telemetry.Queue) bool {
	return q.Has.Has(telemetry.HasExecutedCount) && q.ExecutedCount < last.ExecutedCount ||
		q.Has.Has(telemetry.HasRequeueCount) && q.RequeueCount < last.RequeueCount
}

// judge is a receiver of records. It is kept: a record has more than a kilobyte, and a publisher of many queues would
// spend most of its time on making new ones.
type judge struct {
	payload []byte
	decoder telemetry.Decoder
	record  telemetry.Record
}

// take fails as a receiver would.
func (j *judge) take(r *telemetry.Record) error {
	j.payload = telemetry.Append(j.payload[:0], telemetry.EncodingArray, r.Header, r.Body())
	j.decoder.Reset(j.payload)
	return j.decoder.Next(&j.record)
}
