package actors

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ringmaster/actors/order"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
	"ringmaster/telemetry/decisionlog"
)

// Bounds of one cell.
const (
	maxReplies  = 8  // reply subjects that wait for one decision
	maxTimings  = 64 // launches timed between two looks of the tuner
	maxOutcomes = 64 // launch outcomes of a remote worker that wait for the queue actor
)

// wakes says which actors a fold asks to look at the cell. A bit is set only
// if no such message is pending, so a mailbox holds at most one of each.
type wakes uint8

const (
	wakeDecision wakes = 1 << iota // queue actor
	wakeOutcomes                   // queue actor: outcomes
	wakeTuner                      // tuner actor: timings
	wakePriority                   // diffusion actor of the worker
)

// cell is where the records of one queue are folded. Publishers fold under the
// lock, actors take from it. It keeps its values when an actor panics.
type cell struct {
	mu sync.Mutex

	sources [4]order.Source // of queue, graph, priority and launch records
	queue   telemetry.Queue
	records SequenceRange // triggers since the last take

	pacer      pacer
	standing   standing
	since      time.Time // when the first record came that no decision has taken; zero: there is none
	dirty      bool      // something newer than the last take
	deciding   bool      // a wake is pending, a decision is in hand, or the queue pauses
	taken      bool      // a decision is in hand
	hasBacklog bool      // backlog is known
	walked     bool      // a job has walked here
	backlog    uint32    // slots submitted here and not finished

	counts  Counts
	applied telemetry.Geometry // by the launch that was reported last
	touched uint64             // tick of the last accepted record or submission

	requeuesReported uint64 // last value of the publisher's requeue_count
	executedReported uint64 // last value of the publisher's executed_count
	lastRequeuedHits uint64 // last value of the publisher's requeued_hit_count
	requeues         uint64 // all of them, over all incarnations and launches
	executed         uint64

	requeuesDecided uint64 // part of requeues that a published decision has seen
	requeuesTaken   uint64 // part of requeues that the decision on its way has seen

	graph    telemetry.Graph
	walk     *Walk // newest, of a job here; nil: none. Constant
	priority telemetry.Priority

	seen    SequenceRange // of the last take
	replies []string      // waiting for a decision

	timings   []session.Report // since the tuner actor looked
	sampledAt time.Time        // when the newest of them came, or one before
	outcomes  []outcome        // since the queue actor looked
	runs      decisionlog.Runs // since the last take, where decisions are audited
	ranBy     uint64           // the last decision of which a launch was in runs
	reporting bool             // a reported message is pending at the queue actor
	tuning    bool             // a reported message is pending at the tuner actor
	ranking   bool             // a prioritized message is pending

	target   atomic.Uint32 // ms, the queue's latency target; read without mu
	history  policy.History
	compiled bool // a launch could have a compiled kernel at once, as the last wave found

	carried      bool // views have a memory
	audited      bool // decisions are
	ranElsewhere bool // a launch was reported to the process that decided before
}

// view is what a decision sees of a cell.
type view struct {
	queue      telemetry.Queue
	graph      telemetry.Graph
	walk       *Walk
	requeues   uint64 // since the last published decision
	backlog    uint32
	hasBacklog bool
	records    SequenceRange
	since      time.Time // when the first of them came; zero: none came
	replies    []string  // who waits for this decision
	measured   policy.Measured
	compiled   bool // see cell
	lease      policy.Lease
	ran        bool // a launch was reported
	runs       decisionlog.Runs
	others     uint32     // other queues of the worker that have work, or had some lately
	target     uint32     // ms, see family.target
	memory     cellMemory // where decisions are stored
}

// outcome is a launch report of a remote worker as the queue actor needs it.
type outcome struct {
	Seq      uint64 `json:"seq"` // of the record, by its publisher
	Launch   uint64 `json:"launch"`
	Decision uint64 `json:"decision"`
	OK       bool   `json:"ok,omitzero"`
}

// take hands the folded view to the queue actor, nil if nothing has asked for a
// decision since the last take. The cell stays busy until decided or abandon. A view is
// 2 KB: passed on by its address it is not copied, and its stack need not grow for it.
func (c *cell) take() *view {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dirty {
		c.deciding = c.pacer.pausing
		return nil
	}
	c.dirty, c.taken = false, true
	c.pacer = pacer{paced: max(c.pacer.triggers, c.standing.submissions) >= pacedFrom}
	c.standing = standing{backlog: c.backlog, measured: c.history.Known()}
	if c.records.Last != 0 {
		c.seen = c.records
		c.records = SequenceRange{}
	}
	c.requeuesTaken = c.requeues
	v := &view{
		queue: c.queue, graph: c.graph, walk: c.walk,
		requeues: c.requeues - c.requeuesDecided,
		backlog:  c.backlog, hasBacklog: c.hasBacklog,
		records: c.seen, since: c.since, replies: slices.Clone(c.replies), measured: c.history.Measured(), compiled: c.compiled,
		ran: c.ran(), runs: c.runs,
	}
	c.runs = decisionlog.Runs{}
	c.since = time.Time{}
	if c.carried {
		v.memory = c.remember()
	}
	return v
}

// decided ends a decision with some view that was published, and says when the next
// one is due: now if something newer has arrived, later if so much arrives that the
// queue is paced. There is no pause while somebody waits for an answer. The caller
// sends the next wake, or arranges for paceOver to be called.
func (c *cell) decided(v *view) due {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = false
	c.requeuesDecided = c.requeuesTaken
	c.replies = slices.Delete(c.replies, 0, len(v.replies))
	c.pacer.pausing = c.pacer.paced && len(c.replies) == 0
	c.deciding = c.dirty || c.pacer.pausing
	switch {
	case c.pacer.pausing:
		return dueLater
	case c.dirty:
		return dueNow
	default:
		return dueOnRecord
	}
}

// abandon notes that the queue actor has panicked: a decision that it had in hand is
// to be made again.
func (c *cell) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dirty = c.dirty || c.taken
	c.taken = false
}

// drop ends a decision that another process has made.
func (c *cell) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = false
	c.deciding = c.dirty
}

// lostWakes asks all actors that may have lost a message to look again. That does no
// harm if they have not: a wake too many finds nothing to decide.
func (c *cell) lostWakes() (w wakes) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dirty && !c.pacer.pausing {
		c.deciding = true
		w |= wakeDecision
	}
	if c.tuning {
		w |= wakeTuner
	}
	if c.reporting {
		w |= wakeOutcomes
	}
	return w
}

// requestDecision asks for a decision on what is already known, because something
// other than the queue's own records has changed.
func (c *cell) requestDecision() wakes {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dirty {
		return 0
	}
	return c.trigger()
}

// setBacklog notes the slots that wait for this queue here. They trigger a decision only
// where no publisher reports the queue's length, and if the newest does not stand.
func (c *cell) setBacklog(slots uint32, submitted bool) wakes {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.backlog, c.hasBacklog = slots, true
	if !submitted || c.queue.Has.Has(telemetry.HasQueueLen) {
		return 0
	}
	if c.standing.covers(slots) {
		return 0
	}
	return c.trigger()
}

// untoldBacklog returns the slots that wait here, and whether nobody but this process tells the
// queue's length.
func (c *cell) untoldBacklog(own uint64) (slots uint32, untold bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := c.source(telemetry.KindQueue)
	return c.backlog, c.hasBacklog && (!by.Known() || by.PublishedBy(own) || !c.queue.Has.Has(telemetry.HasQueueLen))
}

// measured says whether the cost of the queue's launches is known.
func (c *cell) measured() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.history.Known()
}

// source returns the ordering of one kind.
func (c *cell) source(k telemetry.Kind) *order.Source {
	return &c.sources[k-telemetry.KindQueue]
}

// takeTimings appends the launch timings that wait for the tuner actor to dst.
func (c *cell) takeTimings(dst []session.Report) []session.Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	dst = append(dst, c.timings...)
	c.timings = c.timings[:0]
	c.tuning = false
	return dst
}

// takeOutcomes appends the outcomes that wait for the queue actor to dst.
func (c *cell) takeOutcomes(dst []outcome) []outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	dst = append(dst, c.outcomes...)
	c.outcomes = c.outcomes[:0]
	c.reporting = false
	return dst
}

// takePriority returns the queue's priority and how freely it shares.
func (c *cell) takePriority() telemetry.Priority {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ranking = false
	return c.priority
}

// preferred says whether the queue was given a higher priority than others have.
func (c *cell) preferred() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.priority.Priority > defaultPriority
}

// count counts what happened to the queue.
func (c *cell) count(add func(*Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	add(&c.counts)
}

// totals returns what was counted.
func (c *cell) totals() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// status writes what the cell knows of its queue into a row.
func (c *cell) status(row *QueueStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	row.Counts, row.Applied = c.counts, c.applied
	for i := range c.sources {
		if heard := c.sources[i].Last; heard.After(row.HeardAt) {
			row.HeardAt = heard
		}
	}
}

// touch notes that somebody used the queue.
func (c *cell) touch(tick uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.touched = tick
}

// lastTouched returns the tick of the last use.
func (c *cell) lastTouched() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.touched
}

// Decisions of a queue follow each other as fast as its records, until records
// arrive faster than decisions are made. From then on each decision answers several
// records, and more decisions a second would only take processor time from the
// records that they are about. Such a queue is paced.
const (
	// pacedFrom is how many triggers one decision answers in a queue that is
	// paced. It is more than a publisher sends of one state of its queue.
	pacedFrom = 4
	// pace is the pause after a decision of a paced queue, and so what pacing
	// adds at most to the age of its newest value.
	pace = 10 * time.Millisecond
)

// standing is whether the newest decision stands for what is submitted after it. No launch waits for the
// decision after a submission, and to make and store one for each batch took a third of the processor time that
// a batch of 16 slots takes from its submission to its done record.
type standing struct {
	backlog     uint32 // that it was made for
	measured    bool   // it knew what launches take
	submissions uint32 // since
}

// covers reports whether the decision stands for one more submission: it does for a few, of a
// backlog like the one that it was made for.
func (s *standing) covers(slots uint32) bool {
	s.submissions++
	return s.measured && slots/2 <= s.backlog && s.submissions < pacedFrom
}

// due says when the decision after a published one is made.
type due uint8

const (
	dueOnRecord due = iota // nothing newer has arrived
	dueNow
	dueLater // after pace
)

// pacer is the part of a cell that counts what decisions answer.
type pacer struct {
	triggers uint32 // since the last take
	paced    bool   // the last take had many
	pausing  bool   // until paceOver
}

// paceOver ends the pause of a paced queue.
func (c *cell) paceOver() wakes {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.pacer.pausing {
		return 0
	}
	c.pacer.pausing = false
	if c.deciding = c.dirty; c.dirty {
		return wakeDecision
	}
	return 0
}
