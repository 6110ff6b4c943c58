package actors

import (
	"math"
	"sync"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// workerActor owns the engine of a local worker. It feeds the engine submitted work,
// starts a launch whenever work is pending and the plans allow one more in flight, and
// reports the launches in the order of their starts. Only its goroutine calls the
// engine.
type workerActor struct {
	system *System
	device *device
	engine Engine
	self   address

	inbox       inbox
	lanes       map[string]*lane // by queue
	ready       []*lane          // those with pending slots, longest first
	finished    finishedBatches
	tombstones  *tombstones
	outbox      []*batch  // finished, done record to be sent
	admitted    uint64    // batches so far
	undecided   int       // done records on their way to the server
	flights     []*flight // the launches under way, in the order of their starts
	accounted   []*flight // launches that came back and that others are not told of
	freeSince   time.Time // when there was none
	headSince   time.Time // since when the first of them has the device, as far as reports tell
	priorities  map[string]float64
	draining    []*drain
	stopping    bool
	candidates  []policy.Candidate // reused between launches
	virtualTime float64            // see policy.PickQueue
	panics      int                // in a row

	hand    any    // item in hand, to be accounted for after a panic
	sending *batch // batch in hand of the publisher
}

func (w *workerActor) receive(msg message) {
	switch m := msg.(type) {
	case arrived:
		w.work()
	case planned:
		// a queue may have a new plan: proceed looks at it
	case diffused:
		w.priorities = m.byQueue
	case forgotten:
		w.drop(m.family)
	}
	w.proceed()
	w.panics = 0
}

// work handles what is in the inbox.
func (w *workerActor) work() {
	for {
		item, ok := w.inbox.next()
		if !ok {
			return
		}
		w.hand = item
		switch it := item.(type) {
		case *batch:
			w.admit(it)
		case *launchResult:
			w.onResult(it)
		case *delivery:
			w.deliver(it)
		case *cancellation:
			w.cancel(it)
		case *ended:
			w.end(it)
		case func():
			it()
		case *drain:
			w.stopping = true
			w.draining = append(w.draining, it)
		}
		w.hand = nil
		w.proceed()
	}
}

// proceed does whatever the last message or item made possible.
func (w *workerActor) proceed() {
	w.settle()
	w.publish()
	w.tell()
	w.launch()
	w.endDrain()
}

// after has the actor do something once some time is over.
func (w *workerActor) after(d time.Duration, do func()) {
	time.AfterFunc(d, func() { w.post(do) })
}

// post puts an item into the inbox from any goroutine.
func (w *workerActor) post(item any) (ok bool) {
	wake, ok := w.inbox.put(item)
	if wake {
		w.system.shell.send(w.self, arrived{})
	}
	return ok
}

// endDrain tells those who drain that nothing is under way, and returns the work that
// will not run here.
func (w *workerActor) endDrain() {
	if !w.stopping || len(w.flights) > 0 || w.undecided > 0 {
		return
	}
	w.giveBack(ErrDraining)
	for _, d := range w.draining {
		close(d.idle)
	}
	w.draining = nil
}

// restarted settles what the actor had in hand when it panicked. Messages that only
// say "look" are made up for by looking again, after a pause that grows while the
// actor keeps panicking.
func (w *workerActor) restarted(lost message) {
	switch m := lost.(type) {
	case diffused:
		w.priorities = m.byQueue
	case forgotten:
		w.drop(m.family)
	}
	hand, sending := w.hand, w.sending
	w.hand, w.sending = nil, nil
	if b, ok := hand.(*batch); ok && b.waiters != nil {
		b.settle(telemetry.OutcomeRetry, ErrPanic)
	}
	if c, ok := hand.(*cancellation); ok {
		c.answer(telemetry.CancelUnseen, 0, ErrPanic)
	}
	if it, ok := hand.(*ended); ok {
		w.post(it) // its batches have no other report
	}
	if sending != nil {
		w.post(&delivery{sending, ErrPanic})
	}
	for _, f := range w.flights {
		if f.starting {
			w.post(&launchResult{f.launch, Report{
				Launch:  telemetry.Launch{Has: telemetry.HasStatus | telemetry.HasError, Status: telemetry.LaunchFailed, Error: ErrPanic.Error()},
				Pending: f.lane.pending,
			}})
		}
	}
	w.panics++
	time.AfterFunc(pause(w.panics), func() {
		if !w.system.closed.Load() {
			w.system.shell.send(w.self, arrived{})
		}
	})
}

// inbox holds what a worker actor has to handle and must not lose: work whose
// outcome somebody waits for, and launches that came back. Like a cell it asks
// for one message, however many items it has.
type inbox struct {
	mu      sync.Mutex
	results []any // *launchResult: ahead of the items, as the device may wait for its next launch
	items   []any // *batch, *delivery, *cancellation, *ended, *drain, func()
	woken   bool
	closed  bool
}

type (
	// launchResult is a launch that came back.
	launchResult struct {
		launch uint64
		report Report
	}
	// delivery says what became of a batch's done record.
	delivery struct {
		batch *batch
		err   error
	}
	// drain ends the worker's launches; idle is closed when nothing is under way.
	drain struct{ idle chan struct{} }
)

// put adds an item. wake asks the caller to send one arrived message; ok is
// false once the inbox is closed, and the item is then not taken.
func (b *inbox) put(item any) (wake, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false, false
	}
	if _, ok := item.(*launchResult); ok {
		b.results = append(b.results, item)
	} else {
		b.items = append(b.items, item)
	}
	wake = !b.woken
	b.woken = true
	return wake, true
}

// next takes the oldest result, or without one the oldest item; an empty inbox asks for a wake
// again.
func (b *inbox) next() (item any, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := &b.results
	if len(*list) == 0 {
		list = &b.items
	}
	if len(*list) == 0 {
		b.woken = false
		b.results, b.items = nil, nil
		return nil, false
	}
	item = (*list)[0]
	(*list)[0] = nil
	*list = (*list)[1:]
	return item, true
}

// close takes what is left; nothing is accepted any more.
func (b *inbox) close() []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	left := append(b.results, b.items...)
	b.results, b.items = nil, nil
	return left
}

// joins says whether a launch of a candidate may be under way together with those that are.
func (w *workerActor) joins(c *policy.Candidate) bool {
	under := w.underWay()
	return w.system.cfg.Policy.Joins(c, &under)
}

func (w *workerActor) underWay() (under policy.UnderWay) {
	had := uint64(time.Since(w.headSince))
	for _, f := range w.flights {
		under.Begin(f.charged, had)
	}
	return under
}

// lookBefore has the actor look for the next launch when so many nanoseconds are left of those under way.
func (w *workerActor) lookBefore(ns uint64) {
	under := w.underWay()
	w.after(time.Duration(min(under.Until(ns), math.MaxInt64)), func() {})
}
