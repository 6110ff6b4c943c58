package fleetview

import (
	"hash/fnv"
	"time"

	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry"
)

// Limits bound what a View remembers. The zero value is DefaultLimits.
type Limits struct {
	Queues   int // with a row; of others only their number is known
	Workers  int // and runtimes
	Events   int
	Uncapped int // queues beyond the rows that are counted
}

// DefaultLimits take about 20 MiB when all places are taken.
var DefaultLimits = Limits{Queues: 1024, Workers: 256, Events: 200, Uncapped: 16_384}

type queueName struct{ worker, queue string }

// View is what was heard. Its methods are for one goroutine at a time.
type View struct {
	limits   Limits
	began    time.Time
	queues   map[queueName]*queue
	beyond   map[uint64]time.Time // queues without a row, by a hash of their names, and when they were heard
	workers  map[string]*worker
	runtimes map[string]*runtime
	events   []Event
	strays   rate // refusals of payloads that named no queue
	stray    string
	unknown  []string
}

// Event is something that happened to a queue, a worker or a runtime, in words.
type Event struct {
	At    time.Time `json:"at"`
	State State     `json:"state"`
	Name  string    `json:"name"` // WORKER.QUEUE, or a worker's
	Text  string    `json:"text"`
}

// New is a view that begins to hear at a moment.
func New(began time.Time, limits Limits) *View {
	if limits == (Limits{}) {
		limits = DefaultLimits
	}
	return &View{
		limits: limits, began: began,
		queues: make(map[queueName]*queue), beyond: make(map[uint64]time.Time),
		workers: make(map[string]*worker), runtimes: make(map[string]*runtime),
	}
}

// queue finds a queue or makes room for one. It returns nil where there is none.
func (v *View) queue(now time.Time, worker, name string) *queue {
	key := queueName{worker, name}
	q := v.queues[key]
	if q == nil && (len(v.queues) < v.limits.Queues || v.makeRoom(now)) {
		q = &queue{worker: worker, name: name, progress: now}
		v.queues[key] = q
	}
	if q == nil {
		v.countBeyond(now, key)
		return nil
	}
	q.heard = now
	return q
}

// makeRoom forgets a queue for which nobody decides and of which nothing was heard for a while.
func (v *View) makeRoom(now time.Time) bool {
	for key, q := range v.queues {
		if now.Sub(q.heard) > silentAfter && !now.Before(q.until) {
			delete(v.queues, key)
			return true
		}
	}
	return false
}

func (v *View) countBeyond(now time.Time, key queueName) {
	h := fnv.New64a()
	h.Write([]byte(key.worker + "." + key.queue))
	sum := h.Sum64()
	if _, there := v.beyond[sum]; there || len(v.beyond) < v.limits.Uncapped {
		v.beyond[sum] = now
	}
}

// Recommendation takes a recommendation for a queue or a repetition of one. Those of a queue come in the order that
// a subscriber keeps: none is older than the one that came last.
func (v *View) Recommendation(now time.Time, worker, name string, h *telemetry.Header, r *telemetry.Recommendation) {
	if q := v.queue(now, worker, name); q != nil {
		q.advise(now, h, r)
	}
}

// Telemetry takes what a publisher or a worker says of a queue: its load, its graph, its priority, or a launch.
func (v *View) Telemetry(now time.Time, worker, name string, r *telemetry.Record) {
	q := v.queue(now, worker, name)
	if r.Kind == telemetry.KindLaunch {
		if w := v.worker(now, worker); w != nil {
			w.launched(now, &r.Launch)
		}
	}
	switch {
	case q == nil:
	case r.Kind == telemetry.KindLaunch:
		q.launched(now, &r.Launch)
	default:
		q.record(now, r)
	}
}

// Done takes the done record of a batch.
func (v *View) Done(now time.Time, worker, name string, d *telemetry.Done) {
	if q := v.queue(now, worker, name); q != nil {
		q.ended(now, d)
	}
}

// Rejected takes a refusal. Without names it is of a payload that named no queue.
func (v *View) Rejected(now time.Time, worker, name string, r *telemetry.Rejected) {
	if worker == "" {
		v.strays.add(now, 1+r.Suppressed)
		v.stray = refusalText(r)
		return
	}
	if q := v.queue(now, worker, name); q != nil {
		q.refused(now, r)
	}
}

// Stored takes how many batches of each queue the stream has that are not done, and that it has none of others.
func (v *View) Stored(now time.Time, batches []StoredBatches) {
	for _, q := range v.queues {
		q.stored = known(0)
	}
	for _, b := range batches {
		q := v.queues[queueName{b.Worker, b.Queue}]
		if q == nil {
			q = v.queue(now, b.Worker, b.Queue)
		}
		if q != nil {
			q.stored = known(float64(b.Batches))
		}
	}
}

// StoredBatches are batches of a queue that wait in the stream or run.
type StoredBatches struct {
	Worker, Queue string
	Batches       uint64
}

// Unheard says what this process is not told, and why, one sentence each.
func (v *View) Unheard(sentences []string) { v.unknown = sentences }

// note adds an event to the log.
func (v *View) note(e Event) {
	if len(v.events) >= v.limits.Events {
		v.events = append(v.events[:0], v.events[len(v.events)-v.limits.Events+1:]...)
	}
	e.Text = text.Plain(e.Text)
	v.events = append(v.events, e)
}

// forget drops what has been silent for so long that nobody looks for it any more.
func (v *View) forget(now time.Time) {
	for key, q := range v.queues {
		if now.Sub(q.heard) > forgotten && !now.Before(q.until) {
			delete(v.queues, key)
		}
	}
	for sum, heard := range v.beyond {
		if now.Sub(heard) > lately {
			delete(v.beyond, sum)
		}
	}
	for name, w := range v.workers {
		if now.Sub(w.heard) > forgotten {
			delete(v.workers, name)
		}
	}
	for id, r := range v.runtimes {
		if now.Sub(r.heard) > forgotten {
			delete(v.runtimes, id)
		}
	}
}
