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
	sentNs  int64
	body    telemetry.Body
}

// place is where the newest record of a key is kept.
type place struct {
	newest *report
	due    bool // it is in the outbox's list
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
	kept     map[key]*place
	due      []*place        // of kept
	launches []*report       // that are due, oldest first
	subjects map[string]bool // that were reported on
	session  uint64          // in which all that is kept was due; 0: none
	stats    PublisherStats  // but Waiting
	judge    judge
}

func newOutbox(takeOver bool) outbox {
	return outbox{takeOver: takeOver, kept: make(map[key]*place), subjects: make(map[string]bool)}
}

// put takes a record of a moment, in nanoseconds, and keeps a copy. The error says why it is not taken; nothing has
// changed then.
func (o *outbox) put(k key, subject string, sentNs int64, body telemetry.Body) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return natsio.ErrClosed
	}
	var last telemetry.Body
	at := o.kept[k]
	if at != nil {
		last = at.newest.body
	} else if k.kind != telemetry.KindLaunch && len(o.kept) >= maxKept {
		return fmt.Errorf("%w: %d records are kept", natsio.ErrBacklog, len(o.kept))
	}
	whole, err := merge(last, k.kind, body, o.takeOver)
	if err != nil {
		return err
	}
	if err := o.judge.take(telemetry.Header{Incarnation: 1, Seq: 1, SentNs: sentNs}, whole); err != nil {
		return err
	}
	next := &report{key: k, subject: subject, sentNs: sentNs, body: whole}
	if at != nil {
		at.newest = next
		o.makeDue(at)
		return nil
	}
	if k.kind == telemetry.KindLaunch {
		o.launches = append(o.launches, next)
		o.boundLaunches()
	} else {
		at = &place{newest: next}
		o.kept[k] = at
		o.makeDue(at)
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
		o.makeAllDue(0)
	}
	out := slices.Grow(o.launches, len(o.due))
	for _, at := range o.due {
		out = append(out, at.newest)
		at.due = false
	}
	o.launches, o.due = nil, o.due[:0]
	slices.SortStableFunc(out, func(a, b *report) int {
		return cmp.Or(strings.Compare(a.subject, b.subject), cmp.Compare(b.kind, a.kind), strings.Compare(a.queue, b.queue))
	})
	return out
}

// again makes kept records due, of one kind or, with 0, of all.
func (o *outbox) again(kind telemetry.Kind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.makeAllDue(kind)
}

// makeAllDue makes kept records due, of one kind or, with 0, of all. Called with mu held.
func (o *outbox) makeAllDue(kind telemetry.Kind) {
	for k, at := range o.kept {
		if kind == 0 || k.kind == kind {
			o.makeDue(at)
		}
	}
}

// makeDue makes a kept record due. Called with mu held.
func (o *outbox) makeDue(at *place) {
	if !at.due {
		at.due = true
		o.due = append(o.due, at)
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

// payload appends the first records that share a payload of at most limit bytes, and returns how many they are.
func payload(bytes []byte, due []*report, limit int, encode func([]byte, *report) []byte) (_ []byte, records int) {
	for i, r := range due[:min(len(due), payloadRecords)] {
		if i > 0 && (r.subject != due[0].subject || len(bytes)+longestRecord > limit) {
			return bytes, i
		}
		bytes = encode(bytes, r)
		records = i + 1
	}
	return bytes, records
}

// merge copies the last record of a key, which may be nil, and sets what a report carries in it. Taking over is an
// event, which merging of records leaves out.
func merge(last telemetry.Body, kind telemetry.Kind, body telemetry.Body, takeOver bool) (telemetry.Body, error) {
	switch r := body.(type) {
	case *telemetry.Worker:
		whole := *r
		whole.Capabilities, whole.Opcodes = slices.Clone(r.Capabilities), slices.Clone(r.Opcodes)
		return &whole, nil
	case *telemetry.Launch:
		whole := *r
		whole.OpcodeCounts, whole.Fingerprint = slices.Clone(r.OpcodeCounts), slices.Clone(r.Fingerprint)
		return &whole, nil
	case *telemetry.Queue:
		whole := copied[telemetry.Queue](last)
		if fell(r, whole) {
			return nil, &telemetry.RecordError{
				Kind: telemetry.KindQueue, Reason: telemetry.ReasonInconsistent,
				Err: errors.New("a counter fell; counters are cumulative for the publisher's life"),
			}
		}
		whole.Merge(r)
		if takeOver || r.TakeOver {
			whole.TakeOver, whole.Has = true, whole.Has|telemetry.HasQueueTakeOver
		}
		return whole, nil
	case *telemetry.Graph:
		whole := copied[telemetry.Graph](last)
		whole.Merge(r)
		if takeOver || r.TakeOver {
			whole.TakeOver, whole.Has = true, whole.Has|telemetry.HasGraphTakeOver
		}
		return whole, nil
	case *telemetry.Priority:
		whole := copied[telemetry.Priority](last)
		whole.Merge(r)
		if takeOver || r.TakeOver {
			whole.TakeOver, whole.Has = true, whole.Has|telemetry.HasPriorityTakeOver
		}
		return whole, nil
	}
	return nil, fmt.Errorf("a %v record is not for publishers; queue, graph, priority, launch and worker are", kind)
}

// copied is a copy of a body, or an empty one of nil.
func copied[T any](body telemetry.Body) *T {
	of := new(T)
	if body != nil {
		*of = *body.(any).(*T)
	}
	return of
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
func (j *judge) take(h telemetry.Header, body telemetry.Body) error {
	j.payload = telemetry.Append(j.payload[:0], telemetry.EncodingArray, h, body)
	j.decoder.Reset(j.payload)
	return j.decoder.Next(&j.record)
}
