package actors

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// depthEngine keeps any number of launches under way until the test lands them, and
// takes its slots when a launch begins, as a ring does.
type depthEngine struct {
	plainEngine
	mu      sync.Mutex
	waiting []batchLeft // submitted, in no launch
	flights []depthFlight
	most    int // launches under way at a time
	started int
	panics  bool // in the next Launch
}

type batchLeft struct {
	id    string
	slots int
}

type depthFlight struct {
	order  Order
	taken  []batchLeft
	settle func(Report)
}

func (e *depthEngine) Submit(_ string, w *telemetry.Work) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = append(e.waiting, batchLeft{w.Batch, len(w.Slots)})
	return nil
}

func (e *depthEngine) Launch(o Order, settled func(Report)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.panics {
		e.panics = false
		panic("scripted: launch")
	}
	f := depthFlight{order: o, settle: settled}
	for room := int(o.Plan.BatchDepth); room > 0 && len(e.waiting) > 0; {
		b := &e.waiting[0]
		n := min(room, b.slots)
		f.taken = append(f.taken, batchLeft{b.id, n})
		room -= n
		if b.slots -= n; b.slots == 0 {
			e.waiting = e.waiting[1:]
		}
	}
	e.flights = append(e.flights, f)
	e.started++
	e.most = max(e.most, len(e.flights))
}

// land ends the launch at a place of those under way. A failed one puts back
// what it took.
func (e *depthEngine) land(i int, fail bool) {
	e.mu.Lock()
	f := e.flights[i]
	e.flights = slices.Delete(e.flights, i, i+1)
	r := e.report(f, fail)
	e.mu.Unlock()
	f.settle(r)
}

func (e *depthEngine) report(f depthFlight, fail bool) Report {
	if fail {
		e.waiting = append(slices.Clone(f.taken), e.waiting...)
		return Report{Launch: telemetry.Launch{Status: telemetry.LaunchFailed, Error: "lost"}, Pending: e.pending()}
	}
	r := Report{Launch: telemetry.Launch{Applied: WireGeometry(f.order.Plan.Geometry()), ElapsedNs: 1000}}
	for _, b := range f.taken {
		r.Launch.Executed += uint64(b.slots)
		if !e.holds(b.id) {
			r.Done = append(r.Done, telemetry.Done{Batch: b.id, Executed: uint32(b.slots)})
		}
	}
	r.Pending = e.pending()
	return r
}

// underWay is the launches under way, and how many there were at most and in all.
func (e *depthEngine) underWay() (flights []depthFlight, most, started int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.flights), e.most, e.started
}

// left is the slots that no launch has run.
func (e *depthEngine) left() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pending()
}

func (e *depthEngine) pending() (n int) {
	e.each(func(b batchLeft) { n += b.slots })
	return n
}

func (e *depthEngine) holds(id string) (held bool) {
	e.each(func(b batchLeft) { held = held || b.id == id })
	return held
}

func (e *depthEngine) each(fn func(batchLeft)) {
	for _, b := range e.waiting {
		fn(b)
	}
	for _, f := range e.flights {
		for _, b := range f.taken {
			fn(b)
		}
	}
}

// orderPublisher notes the reports of launches and confirms done records.
type orderPublisher struct {
	*countingPublisher
	reported func() // before a report is noted; nil: nothing to do
	mu       sync.Mutex
	reports  []telemetry.Launch
}

func (p *orderPublisher) Report(_, _ string, l *telemetry.Launch) {
	if p.reported != nil {
		p.reported()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reports = append(p.reports, *l)
}

// all are the reports so far.
func (p *orderPublisher) all() []telemetry.Launch {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.reports)
}

// failer is a test, or a run of a property.
type failer interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

// depthTrial is a worker with launches of at most 256 slots, of which three may be
// under way.
type depthTrial struct {
	t       failer
	system  *System
	engine  *depthEngine
	pub     *orderPublisher
	batches int
	settled atomic.Int64
	retried atomic.Int64
}

func newDepthTrial(t failer) *depthTrial {
	d := &depthTrial{t: t, engine: &depthEngine{}, pub: &orderPublisher{countingPublisher: newCountingPublisher()}}
	cfg := DefaultConfig()
	cfg.Incarnation, cfg.Autotuner = 99, session.Off
	cfg.Policy.Sizing.BatchDepth, cfg.maxFailures = 256, 1<<20
	s, err := New(cfg, d.pub)
	must(t, err)
	must(t, s.AttachEngine("gpu0", testLimits, 0, d.engine))
	d.system = s
	return d
}

// submit submits batches of some sizes and waits until nothing moves.
func (d *depthTrial) submit(sizes ...int) {
	for _, n := range sizes {
		d.batches++
		w := telemetry.Work{Batch: fmt.Sprint("b", d.batches), Slots: make([]telemetry.Slot, n)}
		d.system.Submit("gpu0", "gpu0", "q", &w, 0, func(o telemetry.Outcome, err error) {
			switch {
			case o == telemetry.OutcomeRetry:
				d.retried.Add(1)
			case o != telemetry.OutcomeDone || err != nil:
				d.t.Errorf("outcome %v, %v", o, err)
			}
			d.settled.Add(1)
		})
	}
	synctest.Wait()
}

func (d *depthTrial) land(i int, fail bool) {
	d.engine.land(i, fail)
	synctest.Wait()
}

// underWay is how many launches are under way.
func (d *depthTrial) underWay() int {
	flights, _, _ := d.engine.underWay()
	return len(flights)
}

// pass lets time of the bubble's clock pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (d *depthTrial) family() *family { return d.system.roster[0] }

func TestADeepQueueHasSeveralLaunchesUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDepthTrial(t)
		defer d.system.Close()
		d.submit(100)
		if d.underWay() != 1 {
			t.Fatalf("%d launches of a shallow queue", d.underWay())
		}
		d.submit(2000)
		if d.underWay() != 3 {
			t.Fatalf("%d launches of a deep queue under way", d.underWay())
		}
		for d.underWay() > 0 {
			d.land(0, false)
		}
		if _, most, _ := d.engine.underWay(); most != 3 || d.engine.left() != 0 || d.settled.Load() != 2 {
			t.Errorf("%d at a time, %d slots left, %d batches settled", most, d.engine.left(), d.settled.Load())
		}
		depths := map[uint32]int{}
		for _, r := range d.pub.all() {
			depths[r.InFlight]++
			if r.Executed == 0 {
				t.Errorf("launch %d had nothing to run", r.Launch)
			}
		}
		if depths[1] == 0 || depths[2] == 0 || depths[3] == 0 || len(depths) != 3 {
			t.Errorf("launches by how many were in flight: %v", depths)
		}
	})
}

func TestShallowQueuesGoIntoThePipelineOfADeepOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDepthTrial(t)
		defer d.system.Close()
		d.submit(2000)
		w := telemetry.Work{Batch: "other", Slots: make([]telemetry.Slot, 10)}
		d.system.Submit("gpu0", "gpu0", "r", &w, 0, func(telemetry.Outcome, error) {})
		synctest.Wait()
		for range 5 { // whose turn it is, is for the priorities to say
			flights, _, _ := d.engine.underWay()
			if slices.ContainsFunc(flights, func(f depthFlight) bool { return f.order.Queue == "r" }) {
				if n := d.underWay(); n != 3 {
					t.Errorf("%d launches under way", n)
				}
				return
			}
			d.land(0, false)
		}
		t.Error("the shallow queue was not launched")
	})
}

func TestLaunchesSettleInTheOrderOfTheirStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDepthTrial(t)
		defer d.system.Close()
		d.submit(2000)
		d.land(2, false)
		d.land(1, false)
		if len(d.pub.all()) != 0 {
			t.Fatalf("report of launch %d before those started earlier", d.pub.all()[0].Launch)
		}
		d.land(0, false)
		for i, r := range d.pub.all() {
			if r.Launch != uint64(i+1) {
				t.Errorf("report %d is of launch %d", i+1, r.Launch)
			}
		}
		if len(d.pub.all()) != 3 || d.underWay() != 3 {
			t.Errorf("%d reports, %d launches under way", len(d.pub.all()), d.underWay())
		}
	})
}

func TestAFailureIsCountedOnceForAllThatWereUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDepthTrial(t)
		defer d.system.Close()
		d.submit(2000)
		for range 3 {
			d.land(0, true)
		}
		if _, _, n := d.engine.underWay(); n != 3 {
			t.Fatalf("%d launches in the pause", n-3)
		}
		pass(retryMin) // of the bubble's clock: the pause after one failure
		if d.underWay() != 1 {
			t.Fatalf("%d launches after a failure", d.underWay())
		}
		d.land(0, false)
		if d.underWay() < 2 {
			t.Errorf("%d launches after one that worked", d.underWay())
		}
	})
}
