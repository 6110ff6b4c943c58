package actors

import (
	"sync"

	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// yieldEvery is the number of folded records of a queue after which its publisher
// lets others run. A publisher that never blocks keeps its processor for a whole
// time slice, while the three actors of a decision wait one after the other: on two
// processors a flood of 64 queues is then answered within 1 s, but within 5 ms
// when the publisher yields every 256 records. Much smaller numbers slow the records
// down for decisions that nobody needs.
const yieldEvery = 256

// Bounds of one cell.
const (
	maxReplies  = 8  // reply subjects that wait for one decision
	maxTimings  = 64 // launches timed between two looks of the tuner
	maxOutcomes = 64 // launch outcomes of a remote worker that wait for the policy actor
)

// wakes says which actors a fold asks to look at the cell. A bit is set only
// if no such message is pending, so a mailbox holds at most one of each.
type wakes uint8

const (
	wakeDecision wakes = 1 << iota // queue actor
	wakeTuner                      // tuner actor: timings
	wakeCommit                     // policy actor: outcomes
	wakePriority                   // diffusion actor of the worker
	fallenBehind                   // nobody: records come faster than they are decided on
)

// cell is where the records of one queue are folded. Publishers fold under the
// lock, actors take from it. It keeps its values when an actor panics.
type cell struct {
	mu sync.Mutex

	sources [4]source // of queue, graph, priority and launch records
	queue   telemetry.Queue
	records SequenceRange // triggers since the last take

	pacer      pacer
	dirty      bool   // something newer than the last take
	deciding   bool   // a wake is pending or a decision is on its way
	hasBacklog bool   // backlog is known
	walked     bool   // a job has walked here
	backlog    uint32 // slots submitted here and not finished

	accepted uint64 // records
	folded   uint64 // triggers that found an undecided one
	touched  uint64 // tick of the last accepted record or submission

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
	outcomes  []outcome        // since the policy actor looked
	reporting bool             // a reported message is pending at the policy actor
	tuning    bool             // a reported message is pending at the tuner actor
	ranking   bool             // a prioritized message is pending
	lost      bool             // a wake or decision ended in a panic, or with the queue's rest
	replied   uint32           // of all replies that ever waited, those that are answered; wraps

	launches launchTotals
}

// view is what a decision sees of a cell.
type view struct {
	queue        telemetry.Queue
	graph        telemetry.Graph
	walk         *Walk
	requeues     uint64 // since the last published decision
	requeueTotal uint64
	backlog      uint32
	hasBacklog   bool
	records      SequenceRange
	asking       bool   // somebody waits for this decision
	asked        uint32 // of all that ever waited for one, those that wait for this or are answered
}

// outcome is a launch report of a remote worker as the policy actor needs it.
type outcome struct {
	launch, decision uint64
	ok               bool
}

// launchTotals sums what launch reports said.
type launchTotals struct {
	launches, failed, executed, faulted uint64
}

// take hands the folded view to the queue actor. The cell stays busy until
// decided, or until lose and revive.
func (c *cell) take() view {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dirty, c.lost = false, false
	c.pacer.taken()
	if c.records.Last != 0 {
		c.seen = c.records
		c.records = SequenceRange{}
	}
	c.requeuesTaken = c.requeues
	return view{
		queue: c.queue, graph: c.graph, walk: c.walk,
		requeues: c.requeues - c.requeuesDecided, requeueTotal: c.requeues,
		backlog: c.backlog, hasBacklog: c.hasBacklog,
		records: c.seen, asking: len(c.replies) > 0, asked: c.replied + uint32(len(c.replies)),
	}
}

// unanswered are the reply subjects that wait for a decision with some view. They wait
// until decided.
func (c *cell) unanswered(v *view) []string {
	if !v.asking {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.replies[:c.open(v)]...)
}

// open is how many of those that wait for a decision no other has answered.
func (c *cell) open(v *view) int { return max(int(int32(v.asked-c.replied)), 0) }

// decided ends a decision with some view that was published, and says when the next one is due:
// now if something newer has arrived, later if so much arrives that the queue is
// paced. The caller sends the next wake, or arranges for paceOver to be called.
func (c *cell) decided(v *view) due {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = false // what came meanwhile is decided on next
	c.requeuesDecided = c.requeuesTaken
	n := c.open(v)
	c.replies = c.replies[:copy(c.replies, c.replies[n:])]
	c.replied += uint32(n)
	if c.deciding = c.dirty; c.pacer.paces(len(c.replies)) {
		c.deciding = true
		return c.pacer.due()
	}
	if c.dirty {
		return dueNow
	}
	return dueOnRecord
}

// lose notes that a wake or a decision will not come to its end.
func (c *cell) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = true
}

// revive asks for a decision that was lost, not for one that is on its way: two would
// count requeues twice. It asks the other actors that may have lost their message to
// look again, which does no harm.
func (c *cell) revive() (w wakes) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost && c.deciding {
		c.lost, c.dirty, c.pacer.pausing = false, true, false
		w |= wakeDecision
	}
	if c.tuning {
		w |= wakeTuner
	}
	if c.reporting {
		w |= wakeCommit
	}
	return w
}

// poke asks for a decision on what is already known, because something other than
// the queue's own records has changed.
func (c *cell) poke() wakes {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dirty {
		return 0
	}
	return c.trigger()
}

// setBacklog notes the slots that wait for this queue here. They trigger a
// decision only where no publisher reports the queue's length.
func (c *cell) setBacklog(slots uint32, submitted bool) wakes {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.backlog, c.hasBacklog = slots, true
	if !submitted || c.queue.Has.Has(telemetry.HasQueueLen) {
		return 0
	}
	return c.trigger()
}

// source returns the ordering of one kind.
func (c *cell) source(k telemetry.Kind) *source {
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

// takeOutcomes appends the outcomes that wait for the policy actor to dst.
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

// totals returns what the cell has counted.
func (c *cell) totals() (accepted, folded uint64, launches launchTotals) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.accepted, c.folded, c.launches
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
