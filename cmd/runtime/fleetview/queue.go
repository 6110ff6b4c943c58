package fleetview

import (
	"slices"
	"time"

	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry"
)

const (
	maxChanges  = 32               // of a queue's plan that are kept
	maxReasons  = 8                // of refusals that are told apart for a queue, or for a runtime
	otherReason = "other"          // where refusals with more reasons are counted
	lately      = time.Minute      // how long a refusal or a failed launch shows
	maxLatency  = time.Hour        // a longer one says that two clocks differ
	forgotten   = 10 * time.Minute // after which a queue that nobody decides for is no longer shown
)

// Change is one change of a queue's plan.
type Change struct {
	At       time.Time
	Decision uint64
	Plan     Plan
	Error    string
	Why      string
}

// queue is what is known of one.
type queue struct {
	worker, name string
	heard        time.Time // anything

	// The newest recommendation.
	advised     bool
	decision    uint64
	incarnation uint64
	plan        Plan
	failure     string // why there is no plan
	reasons     []telemetry.Reason
	held        bool
	at, until   time.Time // when it came or was repeated; until when it holds
	length      uint32    // of the request that it answers
	answered    [2]uint64 // incarnation and number of the newest record that it saw
	changes     []Change
	past        past

	// What publishers, submitters and workers say.
	records, decisions, launches, failures, slots, batches, refusals rate

	busyNs rate // of the device
	timed  bool // its launches tell device times

	answer, done  spread // from a record to its recommendation; from a batch to its done record
	publisher     uint64 // its incarnation
	reported      time.Time
	reportedLen   uint32
	target        uint32 // latency target, ms
	launch        Launched
	launchAt      time.Time
	progress      time.Time // when a launch last executed something, or nothing waited
	failed        string    // why the last launch failed
	failedAt      time.Time
	reasonsOf     map[string]uint64 // refusals by reason
	lastRefusal   string
	lastRefusalAt time.Time
	stored        Figure // batches in the stream
	bad           State  // at the last look, for the log
}

// Launched is the last launch of a queue, as its worker reported it.
type Launched struct {
	width, groups uint32
	Kernel        string
	ElapsedNs     uint64
	Executed      uint64
	NotApplied    string // why it ran otherwise than recommended, "" if it did not
}

// Geometry is the width of a workgroup by the number of workgroups that ran.
func (l *Launched) Geometry() string {
	ran := Plan{Width: l.width, Groups: l.groups}
	return ran.Geometry()
}

// advise takes the newest recommendation.
func (q *queue) advise(now time.Time, h *telemetry.Header, r *telemetry.Recommendation) {
	fresh := !q.advised || r.Decision != q.decision || h.Incarnation != q.incarnation && !r.Fenced
	q.at, q.until = now, now.Add(time.Duration(r.ValidForMs)*time.Millisecond)
	plan := PlanOf(r)
	if fresh {
		q.decisions.add(now, 1)
		q.latency(now, r)
		reasons := append(q.reasons[:0], r.Reasons...)
		if !q.advised || plan != q.plan || (r.Error != "") != (q.failure != "") {
			q.change(Change{At: now, Decision: r.Decision, Plan: plan, Error: text.Plain(r.Error), Why: Why(reasons, r.Error)})
		}
		q.advised, q.decision, q.reasons = true, r.Decision, reasons
		q.plan, q.failure, q.held, q.length = plan, text.Plain(r.Error), r.SwitchHeld, r.QueueLen
		if r.QueueLen == 0 {
			q.progress = now
		}
	}
	if q.publisher == 0 && r.AnsweredIncarnation != h.Incarnation && r.AnsweredSentNs > 0 { // it reported before this process listened
		q.publisher, q.reported, q.reportedLen = r.AnsweredIncarnation, time.Unix(0, r.AnsweredSentNs), r.QueueLen
	}
	q.incarnation = h.Incarnation
	q.past.hold(now, q.until, plan, r.Error != "")
}

// latency counts how long the answer to a record took, once a record.
func (q *queue) latency(now time.Time, r *telemetry.Recommendation) {
	answered := [2]uint64{r.AnsweredIncarnation, r.AnsweredSeq}
	if answered == q.answered || r.Heartbeat || r.AnsweredSentNs <= 0 {
		return
	}
	first := q.answered == [2]uint64{}
	q.answered = answered
	if d := now.Sub(time.Unix(0, r.AnsweredSentNs)); !first && d < maxLatency {
		q.answer.add(now, d) // the first may answer a record of long ago
	}
}

func (q *queue) change(c Change) {
	if len(q.changes) == maxChanges {
		q.changes = slices.Delete(q.changes, 0, 1)
	}
	q.changes = append(q.changes, c)
}

// record takes what a publisher says of the queue's load.
func (q *queue) record(now time.Time, r *telemetry.Record) {
	q.records.add(now, 1)
	if r.Kind != telemetry.KindQueue {
		return
	}
	q.publisher, q.reported = r.Header.Incarnation, now
	if r.Queue.Has&telemetry.HasQueueLen != 0 {
		q.reportedLen = r.Queue.QueueLen
	}
	if r.Queue.Has&telemetry.HasLatencyTargetMs != 0 {
		q.target = r.Queue.LatencyTargetMs
	}
}

// launched takes the report of a launch.
func (q *queue) launched(now time.Time, l *telemetry.Launch) {
	q.launches.add(now, 1)
	if l.Status == telemetry.LaunchFailed {
		q.failures.add(now, 1)
		q.failed, q.failedAt = text.Plain(l.Error), now
		return
	}
	q.slots.add(now, l.Executed)
	if l.TimeSource != telemetry.TimeNone {
		q.timed = true
		q.busyNs.add(now, l.ElapsedNs)
	}
	if l.Executed > 0 {
		q.progress = now
	}
	q.length -= uint32(min(uint64(q.length), l.Executed)) // the next decision says anew what waits; without more work there is none
	q.launchAt = now
	q.launch = Launched{
		width: l.Applied.WorkgroupSizeX, groups: l.Applied.Groups, Kernel: text.Plain(l.Kernel),
		ElapsedNs: l.ElapsedNs, Executed: l.Executed, NotApplied: text.Plain(l.NotApplied),
	}
}

// ended takes the done record of a batch.
func (q *queue) ended(now time.Time, d *telemetry.Done) {
	q.batches.add(now, 1)
	if d.WorkSentNs > 0 {
		if took := now.Sub(time.Unix(0, d.WorkSentNs)); took < maxLatency {
			q.done.add(now, took)
		}
	}
}

// refused takes a refusal of what somebody sent about the queue.
func (q *queue) refused(now time.Time, r *telemetry.Rejected) {
	q.refusals.add(now, 1+r.Suppressed)
	if q.reasonsOf == nil {
		q.reasonsOf = make(map[string]uint64)
	}
	countReason(q.reasonsOf, text.Plain(r.Reason), 1+r.Suppressed)
	q.lastRefusal, q.lastRefusalAt = refusalText(r), now
}

// refusalText is a refusal in words.
func refusalText(r *telemetry.Rejected) string {
	if r.Detail == "" {
		return text.Plain(r.Reason)
	}
	return text.Plain(r.Reason + ": " + r.Detail)
}

// countReason counts under a reason, of which there are at most maxReasons.
func countReason(of map[string]uint64, reason string, n uint64) {
	if _, there := of[reason]; !there && len(of) >= maxReasons {
		reason = otherReason
	}
	of[reason] += n
}
