package ledger

import (
	"fmt"
	"slices"
	"time"
)

// span is an allocated range of a window, in words.
type span struct{ offset, words uint32 }

// allocations are the ranges of a window that are in use, by offset.
type allocations []span

// take finds the first gap of a number of words in a window.
func (a *allocations) take(words, length uint32) (offset uint32, ok bool) {
	at := 0
	for ; at < len(*a); at++ {
		s := (*a)[at]
		if s.offset-offset >= words {
			break
		}
		offset = s.offset + s.words
	}
	if words > length-offset {
		return 0, false
	}
	*a = slices.Insert(*a, at, span{offset, words})
	return offset, true
}

// give frees the range that begins at an offset.
func (a *allocations) give(offset uint32) bool {
	for i, s := range *a {
		if s.offset == offset {
			*a = slices.Delete(*a, i, i+1)
			return true
		}
	}
	return false
}

// Alloc reserves words of a queue's window and returns the offset of the first: the lowest
// range that is free. It creates the queue if there is none. A queue with reservations
// keeps its window.
func (l *Ledger) Alloc(now time.Time, name string, words uint32) (offset uint32, err error) {
	if words == 0 {
		return 0, fmt.Errorf("queue %q: allocation of no words: %w", name, ErrWindow)
	}
	q, err := l.open(now, name)
	if err != nil {
		return 0, err
	}
	offset, ok := q.allocated.take(words, q.window.Length)
	if !ok {
		return 0, fmt.Errorf("queue %q: no range of %d words is free of %d: %w", name, words, q.window.Length, ErrMemory)
	}
	return offset, nil
}

// Free gives back what Alloc reserved at an offset.
func (l *Ledger) Free(name string, offset uint32) error {
	q := l.queues[name]
	if q == nil {
		return fmt.Errorf("queue %q: %w", name, ErrQueue)
	}
	if !q.allocated.give(offset) {
		return fmt.Errorf("queue %q: nothing is allocated at word %d: %w", name, offset, ErrWindow)
	}
	return nil
}
