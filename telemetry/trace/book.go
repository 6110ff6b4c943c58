package trace

import (
	"sync"
	"sync/atomic"
	"time"

	"ringmaster/telemetry"
)

// maxKept is how many queues, and how many batches, are followed at a time. Beyond it a new one takes the place of
// any other: of some, as of a record that was refused, nobody ever tells the end.
const maxKept = 4096

// Book has what is under way of the traces that pass a process. Its methods may be called by several goroutines; those
// of nil do nothing.
type Book struct {
	export func(Span)
	kept   atomic.Int64 // entries of the three maps

	mu      sync.Mutex
	heard   map[queue]heard
	decided map[queue]decided
	batches map[batch]Context
}

type queue struct{ worker, name string }

type batch struct {
	queue
	name string
}

// heard is the newest traced record of a queue, which no decision has answered yet.
type heard struct {
	incarnation, seq uint64
	parent           Context
	at               time.Time
}

// decided is a traced decision that nobody has launched yet.
type decided struct {
	decision uint64
	Context
}

// NewBook returns a Book whose spans go to export, which must be quick.
func NewBook(export func(Span)) *Book {
	return &Book{export: export, heard: make(map[queue]heard), decided: make(map[queue]decided), batches: make(map[batch]Context)}
}

// empty says that nothing is followed, which is what it costs where nothing is.
func (b *Book) empty() bool { return b == nil || b.kept.Load() == 0 }

// put notes an entry. Book.mu is held.
func put[K comparable, V any](b *Book, in map[K]V, key K, value V) {
	take(b, in, key)
	for other := range in {
		if len(in) < maxKept {
			break
		}
		take(b, in, other)
	}
	in[key] = value
	b.kept.Add(1)
}

// take removes an entry. Book.mu is held.
func take[K comparable, V any](b *Book, from map[K]V, key K) (V, bool) {
	value, ok := from[key]
	if ok {
		b.kept.Add(-1)
		delete(from, key)
	}
	return value, ok
}

// Heard notes that a record came with a traceparent, before it is taken in.
func (b *Book) Heard(worker, name string, h *telemetry.Header, traceparent string, at time.Time) {
	if b == nil {
		return
	}
	if parent, ok := Parse(traceparent); ok {
		b.mu.Lock()
		defer b.mu.Unlock()
		put(b, b.heard, queue{worker, name}, heard{h.Incarnation, h.Seq, parent, at})
	}
}

// Decision is a decision that answers a traced record.
type Decision struct {
	book   *Book
	key    queue
	own    decided
	from   heard
	answer telemetry.Recommendation
}

// Decided returns the decision as one that is traced, or nil if it answers no traced record. Until Counts is called,
// another decision may answer the record in its place.
func (b *Book) Decided(worker, name string, r *telemetry.Recommendation) *Decision {
	if b.empty() || r.Heartbeat {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := queue{worker, name}
	from, ok := b.heard[key]
	if !ok || from.incarnation != r.AnsweredIncarnation || from.seq > r.AnsweredSeq {
		return nil
	}
	return &Decision{b, key, decided{r.Decision, from.parent.child()}, from, *r}
}

// Traceparent is the context of what follows the decision, "" if it is nil.
func (d *Decision) Traceparent() string {
	if d == nil {
		return ""
	}
	return d.own.String()
}

// Counts ends the span "decide": the decision counts.
func (d *Decision) Counts() {
	if d == nil {
		return
	}
	b, r := d.book, &d.answer
	b.mu.Lock()
	if b.heard[d.key] == d.from { // and not a newer record
		take(b, b.heard, d.key)
	}
	put(b, b.decided, d.key, d.own)
	b.mu.Unlock()
	b.export(Span{
		Context: d.own.Context, Parent: d.from.parent.Span, Name: "decide", Start: d.from.at, End: time.Now(), Error: r.Error,
		Attributes: []Attribute{fact("worker", d.key.worker), fact("queue", d.key.name), fact("decision", r.Decision), fact("topology", r.Topology), fact("mode", r.LaunchMode)},
	})
}

// Launched ends a span "launch" if the launch is the first of a traced decision.
func (b *Book) Launched(worker, name string, l *telemetry.Launch) {
	if b.empty() {
		return
	}
	b.mu.Lock()
	key := queue{worker, name}
	from, ok := b.decided[key]
	if !ok || from.decision != l.Decision {
		b.mu.Unlock()
		return
	}
	take(b, b.decided, key)
	b.mu.Unlock()
	end := time.Now()
	b.export(Span{
		Context: from.child(), Parent: from.Span, Name: "launch", Start: end.Add(-lasted(l)), End: end, Error: l.Error,
		Attributes: []Attribute{fact("worker", worker), fact("queue", name), fact("decision", l.Decision), fact("launch", l.Launch), fact("executed", l.Executed)},
	})
}

// lasted is for how long the host, or the device if that is all that is known, was busy with a launch.
func lasted(l *telemetry.Launch) time.Duration {
	const most = uint64(time.Hour) // whoever reports may say anything
	return time.Duration(min(max(l.WallNs, l.ElapsedNs), most))
}

// Batch is a batch under way that is traced.
type Batch struct {
	book           *Book
	key            batch
	own            Context
	parent         [8]byte
	stored, handed time.Time
}

// Taken begins to follow a batch that was stored under a traceparent and is handed over now. It returns nil for
// one that is not traced.
func (b *Book) Taken(worker, name, id, traceparent string, stored time.Time) *Batch {
	if b == nil {
		return nil
	}
	parent, ok := Parse(traceparent)
	if !ok {
		return nil
	}
	t := &Batch{book: b, key: batch{queue{worker, name}, id}, own: parent.child(), parent: parent.Span, stored: stored, handed: time.Now()}
	b.mu.Lock()
	defer b.mu.Unlock()
	put(b, b.batches, t.key, t.own)
	return t
}

// Done returns the traceparent of a batch's done record, "" if the batch is not traced.
func (b *Book) Done(worker, name, id string) (traceparent string) {
	if b.empty() {
		return ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if own, ok := b.batches[batch{queue{worker, name}, id}]; ok {
		return own.String()
	}
	return ""
}

// End ends the batch's spans: "batch" from the stream to its acknowledgement, and in it "wait", until it was handed
// over, and "execute". outcome is a word for what became of it; err is why it was not done.
func (t *Batch) End(outcome string, err error) {
	if t == nil {
		return
	}
	t.book.mu.Lock()
	take(t.book, t.book.batches, t.key)
	t.book.mu.Unlock()
	why := ""
	if err != nil {
		why = err.Error()
	}
	now := time.Now()
	whole := Span{
		Context: t.own, Parent: t.parent, Name: "batch", Start: t.stored, End: now, Error: why,
		Attributes: []Attribute{fact("worker", t.key.worker), fact("queue", t.key.queue.name), fact("batch", t.key.name), fact("outcome", outcome)},
	}
	t.book.export(whole)
	t.book.export(Span{Context: t.own.child(), Parent: t.own.Span, Name: "wait", Start: t.stored, End: t.handed})
	t.book.export(Span{Context: t.own.child(), Parent: t.own.Span, Name: "execute", Start: t.handed, End: now})
}
