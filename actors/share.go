package actors

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"ringmaster/megakernel/policy"
)

// recently is for how long a queue without work still counts as one with work: whoever
// sends small batches, one after the other, is there all the time. A decision has no clock,
// so it is told how many there are.
const recently = time.Second

// sharing is what the queues of a worker know of each other.
type sharing struct {
	working atomic.Int32  // queues that have work at the worker, or had some lately
	goal    atomic.Uint32 // ms, the least of goals; 0: none

	mu    sync.Mutex
	goals map[*family]uint32 // of the queues with work that have one
}

// claim is what the other queues are to know of a queue: 0 for no work, else its goal and 1.
func (f *family) claim() uint64 {
	if !f.working.Load() {
		return 0
	}
	return uint64(f.goal()) + 1
}

// tell has the worker's other queues know of a queue's work and goal, and says whether they
// should decide at once: if one of them is no longer alone or is from now on, or if the least
// goal is another power of two. Deadlines that differ a little do not have all queues decide
// with each batch.
func (f *family) tell() (anew bool) {
	if f.claim() == f.told.Load() {
		return false // as with every record but a few
	}
	s := &f.device.sharing
	s.mu.Lock()
	defer s.mu.Unlock()
	now := f.claim()
	before := f.told.Swap(now)
	switch {
	case before == 0 && now != 0:
		anew = s.working.Add(1) == 2
	case before != 0 && now == 0:
		anew = s.working.Add(-1) == 1
	}
	if now > 1 {
		s.goals[f] = uint32(now - 1)
	} else {
		delete(s.goals, f)
	}
	least := uint32(0)
	for _, g := range s.goals {
		least = soonest(least, g)
	}
	return bits.Len32(least) != bits.Len32(s.goal.Swap(least)) || anew
}

// tellGoal has the worker's other queues know the goal of a queue that has work.
func (f *family) tellGoal() {
	if f.tell() {
		if w := f.device.worker.Load(); w != nil {
			w.post(w.share)
		}
	}
}

// works counts the queue as one with work, or no longer, and says whether the others should
// decide at once.
func (f *family) works(has bool) (anew bool) {
	f.working.Store(has)
	return f.tell()
}

// others is how many other queues of the worker have work, or had some lately.
func (f *family) others() uint32 {
	n := f.device.sharing.working.Load()
	if f.told.Load() != 0 {
		n--
	}
	return uint32(max(n, 0))
}

// hasSlots takes in whether records say that a queue of a worker elsewhere has work. Of a
// worker here its lanes tell, and nothing is known from before it was here.
func (a *queueActor) hasSlots(has bool) {
	switch {
	case has && !a.device.view.Load().local:
		a.slotsAt = time.Now()
		a.works(true)
	case !a.slotsAt.IsZero() && time.Since(a.slotsAt) > recently && a.pending.Load() == 0:
		a.slotsAt = time.Time{}
		a.works(false)
	}
}

// soonest is the less of two targets or deadlines, of which 0 is none.
func soonest(a, b uint32) uint32 {
	if a == 0 || b == 0 {
		return a | b
	}
	return min(a, b)
}

// goal is within how many milliseconds slots of the queue are wanted: by its latency target,
// or the shortest deadline of its batches of late. 0: nobody said.
func (f *family) goal() uint32 { return soonest(f.cell.target.Load(), f.deadline.Load()) }

// hasWork notes that a lane has work, or has none from now on.
func (w *workerActor) hasWork(l *lane, has bool) {
	if has {
		w.works(l, true)
		return
	}
	l.idleSince = time.Now()
	w.waitQuiet(l, recently)
}

func (w *workerActor) waitQuiet(l *lane, wait time.Duration) {
	if !l.quietDue {
		l.quietDue = true
		w.after(wait, func() { w.fallsQuiet(l) })
	}
}

// fallsQuiet no longer counts a lane that has had no work for long enough.
func (w *workerActor) fallsQuiet(l *lane) {
	l.quietDue = false
	if l.pending > 0 {
		return
	}
	if wait := recently - time.Since(l.idleSince); wait > 0 {
		w.waitQuiet(l, wait)
		return
	}
	l.family.deadline.Store(0)
	w.works(l, false)
}

func (w *workerActor) works(l *lane, has bool) {
	if l.family.works(has) {
		w.share()
	}
}

// share has the queues that count as working decide again, so that their next launches are of
// a plan that knows of each other. Nothing follows from that for a queue of which no launch was
// measured: it was alone when it decided on its first launch.
func (w *workerActor) share() {
	for _, l := range w.lanes {
		if l.family.working.Load() && l.family.cell.measured() {
			l.family.dispatch(l.family.cell.requestDecision())
		}
	}
}

// countAhead counts what the slots of a lane are expected to take, by the cost that its queue's newest decision
// knows; nothing is expected of a queue of which no launch was measured.
func (w *workerActor) countAhead(l *lane) {
	ns := int64(0)
	if d := l.family.latest.Load(); d != nil && l.pending > 0 {
		ns = int64(min(d.Request.Cost.Ns(uint32(l.pending)), math.MaxInt32*uint64(time.Second)))
	}
	w.device.ahead.Add(ns - l.ahead)
	l.ahead = ns
}

// Ahead is how long a local worker's device is expected to take for the slots that it has been given and has not
// finished, as their queues' launches were measured. A worker that is not known has nothing ahead.
func (s *System) Ahead(worker string) time.Duration {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if d := s.devices[worker]; d != nil {
		return time.Duration(d.ahead.Load())
	}
	return 0
}

// Expect is how long a device is expected to take for a batch of so many slots of a queue; 0 is not known.
func (s *System) Expect(worker, queue string, slots int) time.Duration {
	s.mu.RLock()
	f := s.family(worker, queue)
	s.mu.RUnlock()
	if f == nil {
		return 0
	}
	d := f.latest.Load()
	if d == nil || d.Request.Cost == (policy.Cost{}) {
		return 0
	}
	return time.Duration(min(d.Request.Cost.Ns(uint32(slots)), math.MaxInt64))
}
