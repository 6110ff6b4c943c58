package natsio

import (
	"slices"
	"time"

	"ringmaster/telemetry"
)

// Advice is a recommendation and how long it holds.
type Advice struct {
	Header         telemetry.Header // of the runtime
	Recommendation telemetry.Recommendation
	// Until is when the advice expires: ValidForMs after it or its last
	// repetition arrived.
	Until time.Time
	// Valid is false once Until has passed: nobody decides any more, go back
	// to a default.
	Valid bool
}

// Usable reports whether there is a plan to launch by: the advice is valid and
// the runtime was able to decide.
func (a *Advice) Usable() bool { return a.Valid && a.Recommendation.Error == "" }

// Event is why an Update was made.
type Event uint8

// Events of a subscriber.
const (
	EventDecision Event = iota // a decision that was not there before
	EventExpired               // the advice is no longer valid
	EventRenewed               // advice that had expired was repeated
)

// String returns the event in one word.
func (e Event) String() string {
	switch e {
	case EventDecision:
		return "decision"
	case EventExpired:
		return "expired"
	case EventRenewed:
		return "renewed"
	}
	return "unknown"
}

// Update is one change of what is known of a queue, as it was then: ask Latest
// whether the advice still holds. Its Reasons are shared and must not be changed.
type Update struct {
	Event Event
	Advice
	// Missed is how many decisions were made since the update before and are
	// not reported: lost with a connection, or given up because updates were
	// not fetched.
	Missed uint64
}

// follower orders the recommendations for one queue. It does no I/O and asks no
// clock; its owner guards it.
//
// Within an incarnation of the runtime the numbers of the subject order what
// comes live. Decision numbers order a snapshot against it: both are one
// runtime's, and its clock tells a record from before the snapshot, which may
// arrive after it, from a queue that was forgotten and began again at 1.
type follower struct {
	known      bool
	latest     Advice
	seq        uint64 // of the newest live record in this incarnation, 0: none
	snapshotNs int64  // the runtime's clock at the newest snapshot taken, 0: none
	// retired are replaced incarnations. Nothing from them is taken while the advice
	// of the newest one is valid: it comes from a runtime that is about to end.
	retired [4]uint64
	oldest  int // index in retired to overwrite next

	heartbeats, missed, stale uint64
}

// live takes a record of the recommend subject. ok is false if nothing changed, except
// perhaps the time until which the advice holds.
func (f *follower) live(h *telemetry.Header, r *telemetry.Recommendation, now time.Time) (u Update, ok bool) {
	if !f.known || h.Incarnation != f.latest.Header.Incarnation {
		if f.known && f.replaced(h.Incarnation, now) {
			f.stale++
			return Update{}, false
		}
		return f.begin(h, r, h.Seq, 0, now), true
	}
	last := f.latest.Recommendation.Decision
	if h.Seq <= f.seq || r.Decision < last && h.SentNs <= f.snapshotNs {
		f.stale++
		return Update{}, false
	}
	f.seq = h.Seq
	return f.follow(h, r, now)
}

// snapshot takes the answer to a snapshot request.
func (f *follower) snapshot(h *telemetry.Header, r *telemetry.Recommendation, now time.Time) (u Update, ok bool) {
	if !f.known || h.Incarnation != f.latest.Header.Incarnation {
		if f.known && f.replaced(h.Incarnation, now) {
			f.stale++
			return Update{}, false
		}
		return f.begin(h, r, 0, h.SentNs, now), true
	}
	if r.Decision < f.latest.Recommendation.Decision {
		f.stale++
		return Update{}, false
	}
	f.snapshotNs = h.SentNs
	return f.follow(h, r, now)
}

func (f *follower) replaced(incarnation uint64, now time.Time) bool {
	return now.Before(f.latest.Until) && slices.Contains(f.retired[:], incarnation)
}

// begin starts with a new incarnation of the runtime.
func (f *follower) begin(h *telemetry.Header, r *telemetry.Recommendation, seq uint64, snapshotNs int64, now time.Time) Update {
	if f.known {
		f.retired[f.oldest] = f.latest.Header.Incarnation
		f.oldest = (f.oldest + 1) % len(f.retired)
	}
	f.known, f.seq, f.snapshotNs = true, seq, snapshotNs
	return f.decided(h, r, 0, now)
}

// follow goes on within an incarnation.
func (f *follower) follow(h *telemetry.Header, r *telemetry.Recommendation, now time.Time) (u Update, ok bool) {
	switch last := f.latest.Recommendation.Decision; {
	case r.Decision == last:
		f.heartbeats++
		again := !f.latest.Valid
		f.renew(r, now)
		return Update{Event: EventRenewed, Advice: f.latest}, again && f.latest.Valid
	case r.Decision < last: // the runtime forgot the queue and began again
		return f.decided(h, r, 0, now), true
	default:
		return f.decided(h, r, r.Decision-last-1, now), true
	}
}

func (f *follower) decided(h *telemetry.Header, r *telemetry.Recommendation, missed uint64, now time.Time) Update {
	f.missed += missed
	f.latest.Header, f.latest.Recommendation = *h, *r
	f.latest.Recommendation.Reasons = slices.Clone(r.Reasons)
	f.renew(r, now)
	return Update{Event: EventDecision, Advice: f.latest, Missed: missed}
}

func (f *follower) renew(r *telemetry.Recommendation, now time.Time) {
	f.latest.Until = now.Add(time.Duration(r.ValidForMs) * time.Millisecond)
	f.latest.Valid = now.Before(f.latest.Until)
}

// expire ends the validity of the advice if its time is over.
func (f *follower) expire(now time.Time) (u Update, ok bool) {
	if !f.known || !f.latest.Valid || now.Before(f.latest.Until) {
		return Update{}, false
	}
	f.latest.Valid = false
	return Update{Event: EventExpired, Advice: f.latest}, true
}

// updates holds updates that have not been fetched. When it is full, the oldest is
// dropped, and the next one counts what it reported as missed.
type updates struct {
	waiting []Update
	limit   int
}

func (q *updates) put(u Update) {
	if len(q.waiting) == q.limit {
		lost := q.waiting[0]
		q.waiting = slices.Delete(q.waiting, 0, 1)
		next := &u
		if len(q.waiting) > 0 {
			next = &q.waiting[0]
		}
		next.Missed += lost.Missed
		if lost.Event == EventDecision {
			next.Missed++
		}
	}
	q.waiting = append(q.waiting, u)
}

func (q *updates) take() (u Update, ok bool) {
	if len(q.waiting) == 0 {
		return Update{}, false
	}
	u = q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	return u, true
}
