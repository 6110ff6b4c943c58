package natsio

import (
	"maps"
	"strings"
	"time"
)

const (
	// maxBuckets bounds the worker names that have a bucket of their own.
	maxBuckets = 1024
	// sweepPause is the least time between two searches for buckets to forget,
	// so that a flood of names does not pay for one search each.
	sweepPause = time.Second
)

// buckets keeps one B for each worker name, for a bounded number of names. It
// is not safe for concurrent use.
type buckets[B any] struct {
	byWorker map[string]*B
	shared   *B // for unknown names, and for all others while byWorker is full
	last     *B // of lastName, nil if it is not known
	lastName string
	fresh    func() *B
	// idle says that a bucket is as good as a fresh one and can be forgotten.
	idle  func(*B, time.Time) bool
	swept time.Time
}

func newBuckets[B any](fresh func() *B, idle func(*B, time.Time) bool) buckets[B] {
	return buckets[B]{byWorker: make(map[string]*B), shared: fresh(), fresh: fresh, idle: idle}
}

// of returns the bucket of a worker name. When all are in use, those that are
// idle make room; until some are, new names share a bucket.
func (t *buckets[B]) of(worker string, now time.Time) *B {
	if worker == "" {
		return t.shared
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
		return t.shared
	}
	b := t.fresh()
	t.byWorker[strings.Clone(worker)] = b // worker is a part of a message
	return b
}
