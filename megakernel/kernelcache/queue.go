package kernelcache

import "slices"

// urgency orders what waits to be built.
type urgency uint8

const (
	ahead  urgency = iota // prefetched; in the order given
	wanted                // a launch asked for it; the newest first, since older ones may be asked for no more
	waited                // somebody waits for it; in the order of arrival
)

// queue is the keys to build, each once, the next one first.
type queue[K comparable] struct {
	limit int
	items []item[K]
}

type item[K comparable] struct {
	key K
	urgency
}

// push adds a key or makes it more urgent. If the queue is full, the last key
// makes room for a more urgent one, or for a newer one that launches want. It
// says whether the key is in the queue and whether another had to leave.
func (q *queue[K]) push(key K, u urgency) (in, displaced bool) {
	if i := q.find(key); i >= 0 {
		if q.items[i].urgency > u || q.items[i].urgency == u && u != wanted {
			return true, false
		}
		q.items = slices.Delete(q.items, i, i+1)
	}
	if len(q.items) == q.limit {
		last := q.items[len(q.items)-1].urgency
		if last > u || last == u && u != wanted {
			return false, false
		}
		q.items = q.items[:len(q.items)-1]
		displaced = true
	}
	at := 0
	for at < len(q.items) && (q.items[at].urgency > u || q.items[at].urgency == u && u != wanted) {
		at++
	}
	q.items = slices.Insert(q.items, at, item[K]{key, u})
	return true, displaced
}

// pop takes the key to build next.
func (q *queue[K]) pop() (next item[K], ok bool) {
	if len(q.items) == 0 {
		return next, false
	}
	next = q.items[0]
	q.items = slices.Delete(q.items, 0, 1)
	return next, true
}

func (q *queue[K]) find(key K) int {
	return slices.IndexFunc(q.items, func(i item[K]) bool { return i.key == key })
}
