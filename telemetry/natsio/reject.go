package natsio

import (
	"maps"
	"strings"
	"sync"

	"golang.org/x/time/rate"

	"ringmaster/telemetry"
)

// maxBuckets bounds the worker names that have a bucket of their own.
const maxBuckets = 1024

// Reasons of this package, beside those of package telemetry.
const (
	ReasonBadReply  = "bad_reply" // a reply subject that is not an inbox; the record itself was taken
	ReasonExhausted = "exhausted" // a batch that was delivered too often without an outcome
)

// Refusals counts what a connection refused since it was opened.
type Refusals struct {
	ByReason   map[string]uint64 // key: a Reason constant
	Reported   uint64            // rejected records published
	Suppressed uint64            // not published because of the rate limit or a lost connection
}

// refusal is one payload or record that is not taken.
type refusal struct {
	worker, queue string // both valid names, or the report goes to rejected.invalid
	subject       string // where it came from, hostile text
	reason        string
	detail        string // never contains payload text
	size          int    // bytes of the payload
}

// rejecter reports refusals on the rejected subjects. One bucket a worker name
// keeps a flood from hiding what others have to be told; the map is bounded.
type rejecter struct {
	conn *Conn

	mu      sync.Mutex
	buckets map[string]*bucket
	shared  *bucket // for unknown names, and for all others when buckets is full
	counts  Refusals
	buf     []byte
}

type bucket struct {
	limiter    *rate.Limiter
	suppressed uint64 // since the last report
}

func (j *rejecter) init(c *Conn) {
	j.conn = c
	j.buckets = make(map[string]*bucket)
	j.shared = j.newBucket()
	j.counts.ByReason = make(map[string]uint64)
}

func (j *rejecter) newBucket() *bucket {
	return &bucket{limiter: rate.NewLimiter(rate.Limit(j.conn.cfg.RejectRate), j.conn.cfg.RejectBurst)}
}

// report counts a refusal and publishes it if its bucket allows.
func (j *rejecter) report(r refusal) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.counts.ByReason[r.reason]++
	b := j.bucket(r.worker)
	if !b.limiter.Allow() || j.publish(r, b.suppressed) != nil {
		b.suppressed++
		j.counts.Suppressed++
		return
	}
	b.suppressed = 0
	j.counts.Reported++
}

func (j *rejecter) publish(r refusal, suppressed uint64) error {
	subjects := j.conn.cfg.Subjects
	to := subjects.RejectedInvalid()
	if r.worker != "" && r.queue != "" && r.queue != telemetry.BatchQueue {
		to = subjects.Rejected(r.worker, r.queue)
	}
	body := telemetry.Rejected{
		Subject:    strings.ToValidUTF8(r.subject, "?"),
		Reason:     r.reason,
		Detail:     r.detail,
		Bytes:      uint32(r.size),
		Suppressed: suppressed,
	}
	h := j.conn.header(to)
	j.buf = telemetry.AppendRejected(j.buf[:0], j.conn.cfg.Form, &h, &body)
	return j.conn.publish(to, j.buf)
}

// bucket returns the bucket of a worker name. When all are in use, those that
// have filled up again and owe no report make room.
func (j *rejecter) bucket(worker string) *bucket {
	if worker == "" {
		return j.shared
	}
	if b, ok := j.buckets[worker]; ok {
		return b
	}
	if len(j.buckets) >= maxBuckets {
		maps.DeleteFunc(j.buckets, func(_ string, b *bucket) bool {
			return b.suppressed == 0 && b.limiter.Tokens() >= float64(j.conn.cfg.RejectBurst)
		})
		if len(j.buckets) >= maxBuckets {
			return j.shared
		}
	}
	b := j.newBucket()
	j.buckets[worker] = b
	return b
}

// Refusals returns what this connection has refused so far.
func (c *Conn) Refusals() Refusals {
	c.reject.mu.Lock()
	defer c.reject.mu.Unlock()
	r := c.reject.counts
	r.ByReason = maps.Clone(r.ByReason)
	return r
}
