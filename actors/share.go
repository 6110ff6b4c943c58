package actors

import "time"

// recently is for how long a queue without work still counts as one with work: whoever
// sends small batches, one after the other, is there all the time. A decision has no clock,
// so it is told how many there are.
const recently = time.Second

// quiet looks whether a lane has had no work for long enough.
type quiet struct{ lane *lane }

// others is how many other queues of the worker have work, or had some lately. Of a worker
// elsewhere it is not known, and 0.
func (f *family) others() uint32 {
	n := f.device.working.Load()
	if f.working.Load() {
		n--
	}
	return uint32(max(n, 0))
}

// hasWork notes that a lane has work, or has none from now on.
func (w *workerActor) hasWork(l *lane, has bool) {
	if !has {
		l.idleSince = time.Now()
		w.waitQuiet(l, recently)
		return
	}
	if !l.family.working.Swap(true) {
		w.share(w.device.working.Add(1), 2)
	}
}

func (w *workerActor) waitQuiet(l *lane, wait time.Duration) {
	if !l.quietDue {
		l.quietDue = true
		time.AfterFunc(wait, func() { w.post(&quiet{l}) })
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
	if l.family.working.Swap(false) {
		w.share(w.device.working.Add(-1), 1)
	}
}

// share has the queues that count as working decide again when one of them is no longer
// alone, or is from now on, so that their next launches are of a plan that knows. Nothing
// follows from that for a queue of which no launch was measured.
func (w *workerActor) share(now, border int32) {
	if now != border {
		return
	}
	for _, l := range w.lanes {
		if l.family.working.Load() && l.family.cell.measured() {
			l.family.dispatch(l.family.cell.requestDecision())
		}
	}
}
