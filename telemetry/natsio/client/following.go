package client

import (
	"slices"
	"sync"
	"time"

	"ringmaster/telemetry"
)

const (
	maxUpdates  = 1024 // that wait for Next; beyond it the oldest go
	maxFollowed = 4096 // queues; when it is reached, expired ones make room, else new ones are ignored
)

// Advice is a recommendation and how long it holds. Its Reasons are shared and must not
// be changed.
type Advice struct {
	Worker, Queue  string
	Header         telemetry.Header // of the runtime
	Recommendation telemetry.Recommendation
	At             time.Time // when it, or its last repetition, arrived
	Until          time.Time // ValidForMs after that
	Valid          bool      // false once Until has passed: nobody decides any more, go back to a default
}

// Usable reports whether there is a plan to launch by: the advice is valid and
// the runtime was able to decide.
func (a *Advice) Usable() bool { return a.Valid && a.Recommendation.Error == "" }

type queueName struct{ worker, queue string }

// followed is what is known of one queue.
type followed struct {
	Advice
	replaced uint64 // incarnation that was there before that of the advice
}

// following decides what a subscriber knows and tells, from what came and when. It knows no connection and no clock,
// and may be used by several goroutines.
type following struct {
	heartbeats bool // repetitions are changes

	mu      sync.Mutex
	queues  map[queueName]*followed
	next    time.Time // no advice expires before; zero if none does
	updates []Advice  // that wait to be told, oldest first
}

// take takes a recommendation, live or from a snapshot.
//
// Decision numbers order the recommendations of one incarnation; a lower number with a later clock is of a queue that
// the runtime forgot, and that began again. Of two incarnations the one that comes is the newer, unless it is the one
// that was replaced while the advice of its successor holds. The numbers of fenced recommendations go on across
// incarnations, so while a fenced one holds they alone say which of two is newer.
func (k *following) take(now time.Time, name queueName, h *telemetry.Header, r *telemetry.Recommendation) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expire(now)
	f := k.follow(name)
	if f == nil {
		return
	}
	known, same := f.Header.Incarnation != 0, f.Header.Incarnation == h.Incarnation
	fenced := r.Fenced && f.Recommendation.Fenced && f.Valid
	repeated := (same || fenced) && r.Decision == f.Recommendation.Decision
	switch {
	case fenced && r.Decision < f.Recommendation.Decision:
		return
	case fenced:
	case same && r.Decision < f.Recommendation.Decision && h.SentNs <= f.Header.SentNs:
		return
	case known && !same && h.Incarnation == f.replaced && f.Valid:
		return
	case known && !same:
		f.replaced = f.Header.Incarnation
	}
	told := repeated && f.Valid && !k.heartbeats
	if !repeated {
		f.Header, f.Recommendation = *h, *r
		f.Recommendation.Reasons, f.Recommendation.Decided = slices.Clone(r.Reasons), nil
	}
	f.Recommendation.Heartbeat = r.Heartbeat
	f.At, f.Until, f.Valid = now, now.Add(time.Duration(r.ValidForMs)*time.Millisecond), r.ValidForMs > 0
	if f.Valid && (k.next.IsZero() || f.Until.Before(k.next)) {
		k.next = f.Until
	}
	if !told {
		k.tell(f.Advice)
	}
}

// follow finds a queue or begins to follow it; it returns nil if there are too many.
func (k *following) follow(name queueName) *followed {
	f := k.queues[name]
	if f == nil && len(k.queues) >= maxFollowed {
		for other, f := range k.queues {
			if !f.Valid {
				delete(k.queues, other)
			}
		}
	}
	if f == nil && len(k.queues) < maxFollowed {
		f = &followed{Advice: Advice{Worker: name.worker, Queue: name.queue}}
		k.queues[name] = f
	}
	return f
}

// expire tells of advice that has expired by now, in the order in which it did. Called with mu held.
func (k *following) expire(now time.Time) {
	if k.next.IsZero() || now.Before(k.next) {
		return
	}
	k.next = time.Time{}
	var expired []Advice
	for _, f := range k.queues {
		switch {
		case f.Valid && !now.Before(f.Until):
			f.Valid = false
			expired = append(expired, f.Advice)
		case f.Valid && (k.next.IsZero() || f.Until.Before(k.next)):
			k.next = f.Until
		}
	}
	slices.SortFunc(expired, func(a, b Advice) int { return a.Until.Compare(b.Until) })
	for _, a := range expired {
		k.tell(a)
	}
}

func (k *following) tell(a Advice) {
	k.updates = append(k.updates[max(0, len(k.updates)+1-maxUpdates):], a)
}

// update takes the oldest update that waits. next is when advice expires, zero if none does.
func (k *following) update(now time.Time) (a Advice, next time.Time, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expire(now)
	if len(k.updates) == 0 {
		return Advice{}, k.next, false
	}
	a, k.updates = k.updates[0], k.updates[1:]
	return a, k.next, true
}

// latest is what is known of a queue.
func (k *following) latest(now time.Time, name queueName) (Advice, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expire(now)
	f := k.queues[name]
	if f == nil {
		return Advice{}, false
	}
	return f.Advice, true
}

// all is what is known of every queue.
func (k *following) all(now time.Time) []Advice {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expire(now)
	all := make([]Advice, 0, len(k.queues))
	for _, f := range k.queues {
		all = append(all, f.Advice)
	}
	return all
}
