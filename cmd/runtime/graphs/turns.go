package graphs

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/fairqueue"
)

// running is a run that is under way.
type running struct {
	key    graphKey
	graph  *storedGraph // nil: it was dropped while the run waited
	stop   context.CancelCauseFunc
	room   uint64 // bytes of the device that it may take
	untold bool   // the queue's graphs changed meanwhile
}

// waitingRun is a run that waits until it may begin.
type waitingRun struct {
	running
	begun chan struct{} // closed when it is under way
}

// enter has a run wait for its turn. A queue has a quarter of the places that the others leave.
func (s *Store) enter(key graphKey, room uint64, stop context.CancelCauseFunc) (*waitingRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, own := 0, s.entered[key.queue]
	for _, n := range s.entered {
		all += n
	}
	if all >= maxGraphRuns || own > 0 && own >= (maxGraphRuns-(all-own))/4 {
		return nil, fmt.Errorf("%w: %d runs are under way or wait, %d of them of queue %s; a worker takes %d, and of one queue a quarter of what the others leave; try again when some are done",
			natsio.ErrGraphBusy, all, own, key.queue, maxGraphRuns)
	}
	s.entered[key.queue]++
	w := &waitingRun{running{key: key, room: room, stop: stop}, make(chan struct{})}
	s.line = append(s.line, w)
	s.beginRuns()
	return w, nil
}

// begin waits until a run is under way. Then end ends it; otherwise the run has left the line.
func (s *Store) begin(ctx context.Context, w *waitingRun) error {
	select {
	case <-w.begun:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.line, w); i >= 0 {
		s.line = slices.Delete(s.line, i, i+1)
		s.leave(w.key.queue)
		s.beginRuns() // it may have been in the way
		return context.Cause(ctx)
	}
	return nil
}

// beginRuns begins the runs that wait and may begin: one of each queue, the queue first whose last run
// began before the others'. What has no room beside those under way waits until it is alone, and
// nobody goes before it meanwhile. Called with mu held.
func (s *Store) beginRuns() {
	for len(s.runs) < maxRunsUnderWay {
		next := -1
		for i, w := range s.line {
			if s.runs[w.key.queue] == nil && (next < 0 || s.lastRun[w.key.queue] < s.lastRun[s.line[next].key.queue]) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := s.line[next]
		if left := s.leftBeside(&running{}); left > 0 && w.room > left {
			if len(s.runs) > 0 {
				return
			}
			w.room = left
		}
		s.line = slices.Delete(s.line, next, next+1)
		s.begunRuns++
		s.lastRun[w.key.queue] = s.begunRuns
		w.graph = s.graphs[w.key]
		s.runs[w.key.queue] = &w.running
		close(w.begun)
	}
}

// end ends a run that is under way.
func (s *Store) end(me *running) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if gone := me.graph != nil && !s.walked(me.key); gone && me.graph.device == s.device {
		s.mu.Unlock() // nobody finds the graph any more; it counts as long as the run does
		err = s.free(me.graph)
		s.mu.Lock()
	}
	delete(s.runs, me.key.queue)
	s.leave(me.key.queue)
	if me.untold {
		s.inform(me.key.queue)
	}
	s.beginRuns()
	return err
}

// leave gives the place of a run back. Called with mu held.
func (s *Store) leave(queue string) {
	if s.entered[queue]--; s.entered[queue] == 0 {
		delete(s.entered, queue)
		delete(s.lastRun, queue)
	}
}

// turnOfRun borrows the device for one turn of a run. Runs take turns in the order in which they ask;
// only one of them is in the way of the ring's launches.
func (s *Store) turnOfRun(g *storedGraph, use func() error) error {
	s.turns <- struct{}{}
	defer func() { <-s.turns }()
	return s.turn(g, use)
}

// line has the loads wait for each other: there is one at a time, by turns of the queues.
type line struct {
	mu      sync.Mutex
	taken   bool
	waiting *fairqueue.Queue[*place]
}

// place is that of a load in the line.
type place struct {
	first chan struct{} // closed when its turn has come
	left  bool          // nobody waits there any more
}

func newLine() *line {
	return &line{waiting: fairqueue.New[*place](fairqueue.Bounds{Items: maxGraphLoads})}
}

// take waits for the turn of a queue's load; next ends it.
func (l *line) take(ctx context.Context, queue string) error {
	l.mu.Lock()
	if !l.taken {
		l.taken = true
		l.mu.Unlock()
		return nil
	}
	p := &place{first: make(chan struct{})}
	_, ok := l.waiting.Put(queue, p, 0)
	l.mu.Unlock()
	if !ok {
		return fmt.Errorf("%w: too many loads of queue %s wait; try again when some are done", natsio.ErrGraphBusy, queue)
	}
	select {
	case <-p.first:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	p.left = true
	l.mu.Unlock()
	select {
	case <-p.first: // at the same time
		l.next()
	default:
	}
	return context.Cause(ctx)
}

func (l *line) next() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p, ok := l.waiting.Next(); ok; p, ok = l.waiting.Next() {
		if !p.left {
			close(p.first)
			return
		}
	}
	l.taken = false
}
