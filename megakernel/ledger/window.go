package ledger

import (
	"fmt"
	"time"
)

// windowBits are the low bits of a tenant that number its window; those above count how
// often the window was given out.
const windowBits = 16

// MaxWindows is the most windows of a heap.
const MaxWindows = 1 << windowBits

// Window is a queue's part of the heap.
type Window struct {
	Tenant uint32 // who has it; no window has a tenant twice, until its generations wrap after 65,536
	Base   uint32 // first word of the heap
	Length uint32 // words
}

// Number is the window's place in the heap, below Config.Windows.
func (w Window) Number() int { return int(w.Tenant & (MaxWindows - 1)) }

// open finds a queue or creates it, with a window that no other queue needs, and notes
// that it is used.
func (l *Ledger) open(now time.Time, name string) (*queue, error) {
	if q := l.queues[name]; q != nil {
		q.used = now
		return q, nil
	}
	number := l.given
	if number < l.cfg.Windows {
		l.given++
	} else {
		var err error
		if number, err = l.evict(now); err != nil {
			return nil, fmt.Errorf("queue %q: %w", name, err)
		}
	}
	w := Window{
		Tenant: l.generation[number]<<windowBits | uint32(number),
		Base:   uint32(number) * l.cfg.WindowWords, Length: l.cfg.WindowWords,
	}
	if l.generation[number] > 0 {
		l.reused = append(l.reused, w)
	}
	l.generation[number]++
	options, ok := l.options[name]
	if !ok {
		options = l.cfg.Queue
	}
	q := &queue{name: name, named: make(map[string][]*Entry), window: w, epoch: l.epoch, given: now, used: now, options: options, bucket: newBucket(options, now)}
	l.queues[name] = q
	return q, nil
}

// evict ends the queue whose window is of least use, of those that nobody needs, and returns the
// number of the window: no batch of theirs is under way or waits to be handed out. That is the queue
// that was used least recently, but those that were written to within Config.WindowHold come last: who
// uploads has time to submit what reads it. One that writes again and again has its window for sure only
// that long, so that all windows together can be kept by nobody. What was in the window is gone: work
// that names its epoch is dropped as after a loss.
func (l *Ledger) evict(now time.Time) (number int, err error) {
	var least *queue
	held := 0
	for _, q := range l.queues {
		switch {
		case !q.idle():
		case now.Sub(q.written) < l.cfg.WindowHold && now.Sub(q.given) < l.cfg.WindowHold:
			held++
		case least == nil || l.lessUseful(q, least, now):
			least = q
		}
	}
	if least == nil {
		return 0, fmt.Errorf("of %d windows %d have work, the others were given and written to within %v: %w",
			l.cfg.Windows, l.cfg.Windows-held, l.cfg.WindowHold, ErrQueues)
	}
	delete(l.queues, least.name)
	l.epoch++
	return least.window.Number(), nil
}

// lessUseful says which of two queues loses its window first: the books decide by values
// alone, not by the order of a map.
func (l *Ledger) lessUseful(q, other *queue, now time.Time) bool {
	recent, otherRecent := now.Sub(q.written) < l.cfg.WindowHold, now.Sub(other.written) < l.cfg.WindowHold
	switch {
	case recent != otherRecent:
		return otherRecent
	case q.used.Equal(other.used):
		return q.window.Number() < other.window.Number()
	}
	return q.used.Before(other.used)
}

// Reused hands out a window that was given to another queue. It has to be cleared before
// anything of its new owner reaches the device. It is called until it reports false,
// after every call that may create a queue: Submit, Transfer, Alloc.
func (l *Ledger) Reused() (w Window, ok bool) {
	n := len(l.reused)
	if n == 0 {
		return Window{}, false
	}
	w = l.reused[n-1]
	l.reused = l.reused[:n-1]
	return w, true
}

// Transfer checks a transfer of words from an offset of a queue's window on. It returns the window and
// the epoch of its contents. A write creates the queue if there is none, and makes the window one in
// use; a read does neither, because whoever reads what nobody computes would keep a window for nothing.
func (l *Ledger) Transfer(now time.Time, name string, offset uint32, words int, write bool) (w Window, epoch uint64, err error) {
	if end := uint64(offset) + uint64(words); end > uint64(l.cfg.WindowWords) {
		return Window{}, 0, fmt.Errorf("queue %q: words %d to %d of %d: %w", name, offset, end, l.cfg.WindowWords, ErrWindow)
	}
	q := l.queues[name]
	switch {
	case write:
		if q, err = l.open(now, name); err != nil {
			return Window{}, 0, err
		}
		q.written = now
	case q == nil:
		return Window{}, 0, fmt.Errorf("queue %q: %w", name, ErrQueue)
	}
	return q.window, q.epoch, nil
}

// Tenants are the names of the queues there are, by tenant.
func (l *Ledger) Tenants() map[uint32]string {
	names := make(map[uint32]string, len(l.queues))
	for name, q := range l.queues {
		names[q.window.Tenant] = name
	}
	return names
}
