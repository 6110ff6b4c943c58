package natsio

import (
	"errors"
	"hash/maphash"
	"maps"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// RateLimit is what one worker name may send.
type RateLimit struct {
	PerSecond float64 // records, above 0
	Burst     int     // records at once after a pause, at least 1
}

const (
	// heardEvery is how often a queue of a worker above its rate is heard.
	heardEvery = 100 * time.Millisecond
	// heardSlots is how many queues of one worker are told apart for that.
	heardSlots = 256
)

// meter decides from the subject of a message, before anything looks at its
// payload, whether the message is taken. It belongs to one subscription and is
// not safe for concurrent use.
//
// A worker name stands for one authenticated publisher, or for several that
// answer for each other: the server's permissions say who may write under it.
// All of them draw on one bucket, so one of them can exhaust it. What remains
// for the others is a floor: while the bucket is empty, each queue is heard
// once every heardEvery, on credit that the bucket pays back first. A
// publisher that sends no more often than that loses nothing to its siblings.
type meter struct {
	limit   RateLimit
	buckets buckets[flow]
	seed    maphash.Seed
}

// flow is what one worker name has sent.
type flow struct {
	limiter *rate.Limiter // in debt after what was heard on credit
	// heard is when a queue was last heard on credit, by the hash of its name.
	// Queues that share a place share its turns; a table of names would have
	// to be bounded too, and would then fail the names that came late.
	heard *[heardSlots]time.Time
}

func newMeter(limit RateLimit) *meter {
	m := &meter{limit: limit, seed: maphash.MakeSeed()}
	m.buckets = newBuckets(
		func() *flow { return &flow{limiter: rate.NewLimiter(rate.Limit(limit.PerSecond), limit.Burst)} },
		func(f *flow, now time.Time) bool { return f.limiter.TokensAt(now) >= float64(limit.Burst) })
	return m
}

// admit takes one record's worth from the bucket of the worker and returns it,
// or nil if the message is above the rate.
func (m *meter) admit(worker, queue string, now time.Time) *flow {
	f := m.buckets.of(worker, now)
	if f.limiter.AllowN(now, 1) || m.onCredit(f, queue, now) {
		return f
	}
	return nil
}

// onCredit gives a queue of an exhausted worker its turn. The debt is bounded
// by the burst, so the rate holds in the long run whatever the queues.
func (m *meter) onCredit(f *flow, queue string, now time.Time) bool {
	if f.limiter.TokensAt(now) <= -float64(m.limit.Burst) {
		return false
	}
	if f.heard == nil {
		f.heard = new([heardSlots]time.Time)
	}
	last := &f.heard[m.place(queue)]
	if now.Sub(*last) < heardEvery {
		return false
	}
	*last = now
	f.limiter.ReserveN(now, 1)
	return true
}

// place is where a flow keeps the turns of a queue. Nobody outside can tell
// which names share one.
func (m *meter) place(queue string) uint64 { return maphash.String(m.seed, queue) % heardSlots }

// charge takes the rest of a payload's records, which are known only after
// its structure check. A payload of more records than the burst counts as the
// burst.
func (m *meter) charge(f *flow, records int, now time.Time) {
	if records > 1 {
		f.limiter.ReserveN(now, min(records-1, m.limit.Burst))
	}
}

var errRateLimited = errors.New("the worker is above its rate; the payload was dropped unread")

const (
	// maxBuckets bounds the worker names that have a bucket of their own.
	maxBuckets = 1024
	// sharedBuckets is how many buckets the names have together that find no place. A flood of names
	// spreads over them, so that few of it share the bucket of anybody else.
	sharedBuckets = 64
	// sweepPause is the least time between two searches for buckets to forget,
	// so that a flood of names does not pay for one search each.
	sweepPause = time.Second
)

// buckets keeps one B for each worker name, for a bounded number of names. It
// is not safe for concurrent use.
type buckets[B any] struct {
	byWorker map[string]*B
	seed     maphash.Seed
	shared   [sharedBuckets]*B // for other names while byWorker is full, by hash
	nameless *B
	last     *B // of lastName, nil if it is not known
	lastName string
	fresh    func() *B
	// idle says that a bucket is as good as a fresh one and can be forgotten.
	idle  func(*B, time.Time) bool
	swept time.Time
}

func newBuckets[B any](fresh func() *B, idle func(*B, time.Time) bool) buckets[B] {
	t := buckets[B]{byWorker: make(map[string]*B), seed: maphash.MakeSeed(), nameless: fresh(), fresh: fresh, idle: idle}
	for i := range t.shared {
		t.shared[i] = fresh()
	}
	return t
}

// of returns the bucket of a worker name. When all are in use, those that are
// idle make room; until some are, new names share buckets.
func (t *buckets[B]) of(worker string, now time.Time) *B {
	if worker == "" {
		return t.nameless
	}
	if worker == t.lastName && t.last != nil {
		return t.last
	}
	if b, ok := t.byWorker[worker]; ok {
		t.last, t.lastName = b, worker
		return b
	}
	if len(t.byWorker) >= maxBuckets && now.Sub(t.swept) >= sweepPause {
		t.swept, t.last = now, nil
		maps.DeleteFunc(t.byWorker, func(_ string, b *B) bool { return t.idle(b, now) })
	}
	if len(t.byWorker) >= maxBuckets {
		return t.shared[maphash.String(t.seed, worker)%sharedBuckets]
	}
	b := t.fresh()
	t.byWorker[strings.Clone(worker)] = b // worker is a part of a message
	return b
}
