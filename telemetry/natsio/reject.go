package natsio

import (
	"fmt"
	"hash/maphash"
	"maps"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"ringmaster/telemetry"
)

// Reasons of this package, beside those of package telemetry.
const (
	ReasonBadReply    = "bad_reply"    // a reply subject that is no inbox that is answered; a record was taken, a request was not
	ReasonExhausted   = "exhausted"    // a batch that was delivered too often without an outcome
	ReasonCrowded     = "crowded"      // a batch of a queue over its quota or stopped, of which many wait already
	ReasonNoDecider   = "no_decider"   // telemetry of a worker that no runtime on the bus decides for
	ReasonRateLimited = "rate_limited" // a payload of a worker above its rate, dropped unread
)

// How many refusals of one queue are reported each second after a burst; the rest is
// counted. Refusals for ReasonRateLimited have a limit of their own for each worker name: they
// come in thousands, and must not hide what else is wrong.
const (
	reportRate, reportBurst   = 10, 40
	limitedRate, limitedBurst = 1, 1
)

// reportPlaces is how many queues have a bucket of reports of their own. Queues whose names
// have the same hash share one, so that no flood of names can use all of them up: one bucket
// takes 10 refusals a second, all of them 160,000, which is more than a process reads.
const reportPlaces = 1 << 14

// Refusals counts what a connection refused since it was opened.
type Refusals struct {
	ByReason   map[string]uint64 `json:"by_reason"`  // key: a Reason constant
	Reported   uint64            `json:"reported"`   // rejected records published
	Suppressed uint64            `json:"suppressed"` // not published because of the rate limit or a lost connection
}

// refusal is one payload or record that is not taken.
type refusal struct {
	worker, queue string // both valid names, or the report goes to rejected.invalid
	subject       string // where it came from, hostile text
	reply         string // inbox of who sent it, or empty
	reason        string
	cause         error // its text never contains payload text
	size          int   // bytes of the payload
}

// rejecter reports refusals on the rejected subjects. A bucket for each queue keeps a
// flood from hiding what others have to be told.
type rejecter struct {
	conn *Conn

	mu       sync.Mutex
	mistakes reports
	limited  buckets[bucket] // for ReasonRateLimited
	counts   Refusals
	buf      []byte
}

type bucket struct {
	limiter    *rate.Limiter
	suppressed uint64 // since the last report
}

func (j *rejecter) init(c *Conn) {
	j.conn = c
	j.mistakes = newReports(reportRate, reportBurst)
	j.limited = newLimitedReports(limitedRate, limitedBurst)
	j.counts.ByReason = make(map[string]uint64)
}

// reports are the buckets of all queues, by the hash of worker and queue. Nobody outside can
// tell which names share a bucket.
type reports struct {
	seed      maphash.Seed
	perSecond rate.Limit
	burst     int
	places    []*bucket // nil before the first refusal, as most connections refuse nothing
}

func newReports(perSecond rate.Limit, burst int) reports {
	return reports{seed: maphash.MakeSeed(), perSecond: perSecond, burst: burst}
}

// of returns the bucket of a queue.
func (r *reports) of(worker, queue string) *bucket {
	if r.places == nil {
		r.places = make([]*bucket, reportPlaces)
	}
	at := &r.places[r.place(worker, queue)]
	if *at == nil {
		*at = &bucket{limiter: rate.NewLimiter(r.perSecond, r.burst)}
	}
	return *at
}

func (r *reports) place(worker, queue string) uint64 {
	return maphash.Comparable(r.seed, [2]string{worker, queue}) % reportPlaces
}

// oweFor is for how long a worker's bucket waits to say how many refusals were left out.
const oweFor = 10 * time.Minute

// newLimitedReports returns buckets of reports for ReasonRateLimited. One that owes a report is idle after oweFor.
func newLimitedReports(perSecond rate.Limit, burst int) buckets[bucket] {
	return newBuckets(
		func() *bucket { return &bucket{limiter: rate.NewLimiter(perSecond, burst)} },
		func(b *bucket, now time.Time) bool {
			full := func(at time.Time) bool { return b.limiter.TokensAt(at) >= float64(burst) }
			return b.suppressed == 0 && full(now) || full(now.Add(-oweFor))
		})
}

// report counts a refusal, logs it and publishes it if its bucket allows. What the sink
// refuses for a reason of its own is logged there.
func (j *rejecter) report(r refusal) {
	if r.reason != telemetry.ReasonRefused {
		j.conn.complaints.Warn("refused: "+r.reason, r.worker, r.queue, "subject", clip(r.subject, telemetry.MaxText), "error", r.cause)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.counts.ByReason[r.reason]++
	now := time.Now()
	b := j.bucket(&r, now)
	if !b.limiter.AllowN(now, 1) || j.publish(r, b.suppressed) != nil {
		b.suppressed++
		j.counts.Suppressed++
		return
	}
	b.suppressed = 0
	j.counts.Reported++
	if r.reply != "" {
		why := r.cause
		if r.reason != telemetry.ReasonRefused {
			why = fmt.Errorf("%s: %w", r.reason, r.cause)
		}
		j.conn.refuse(r.reply, telemetry.SubjectTelemetry, fmt.Errorf("%w: %w", ErrRefused, why))
	}
}

// bucket is the bucket that the report of a refusal is taken from.
func (j *rejecter) bucket(r *refusal, now time.Time) *bucket {
	if r.reason == ReasonRateLimited {
		return j.limited.of(r.worker, now)
	}
	return j.mistakes.of(r.worker, r.queue)
}

func (j *rejecter) publish(r refusal, suppressed uint64) error {
	subjects := j.conn.cfg.Subjects
	to := subjects.RejectedInvalid()
	if r.worker != "" && r.queue != "" && r.queue != telemetry.BatchQueue {
		to = subjects.Rejected(r.worker, r.queue)
	}
	body := telemetry.Rejected{
		Subject:    clip(r.subject, telemetry.MaxText),
		Reason:     r.reason,
		Detail:     clip(r.cause.Error(), telemetry.MaxDetail),
		Bytes:      uint32(r.size),
		Suppressed: suppressed,
	}
	h := j.conn.Header(to)
	j.buf = telemetry.Append(j.buf[:0], j.conn.cfg.Encoding, h, &body)
	return j.conn.publish(to, j.buf)
}

// clip makes a text of at most limit bytes that is valid UTF-8: the subject is
// the sender's and may be anything that the server lets pass.
func clip(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.ToValidUTF8(s, "")
}

// Refusals returns what this connection has refused so far.
func (c *Conn) Refusals() Refusals {
	c.reject.mu.Lock()
	defer c.reject.mu.Unlock()
	r := c.reject.counts
	r.ByReason = maps.Clone(r.ByReason)
	return r
}
