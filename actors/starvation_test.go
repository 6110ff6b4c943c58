package actors

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// sliceEngine runs at most a few slots a launch, and notes how long each queue
// with work has waited for its turn.
type sliceEngine struct {
	plainEngine
	pending map[string]int
	waited  map[string]int // launches of others since the queue had work or ran
	longest map[string]int
	order   Order
	settle  func(Report)
}

func (e *sliceEngine) Submit(queue string, w *telemetry.Work) error {
	e.pending[queue] += len(w.Slots)
	return nil
}

func (e *sliceEngine) Launch(o Order, settled func(Report)) { e.order, e.settle = o, settled }

// land ends the launch under way after up to slots of its queue, or fails it.
func (e *sliceEngine) land(slots int, fail bool) {
	o, settle := e.order, e.settle
	e.settle = nil
	ran := o.Queue
	for q, n := range e.pending {
		if n > 0 && q != ran {
			e.waited[q]++
			e.longest[q] = max(e.longest[q], e.waited[q])
		}
	}
	e.waited[ran] = 0
	if fail {
		settle(Report{Launch: telemetry.Launch{Status: telemetry.LaunchFailed, Error: "lost"}, Pending: e.pending[ran]})
		return
	}
	slots = min(slots, e.pending[ran])
	e.pending[ran] -= slots
	settle(Report{Launch: telemetry.Launch{Executed: uint64(slots), Applied: WireGeometry(o.Plan.Geometry())}, Pending: e.pending[ran]})
}

// withoutDeadline hides what synctest does not let a property test call.
type withoutDeadline struct{ testing.TB }

// Whatever the priorities are, how freely they spread, how much work the
// queues have and when it comes, and whichever launches fail: a queue with work
// waits for a bounded number of launches, and all work runs.
func TestNoQueueStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(withoutDeadline{t}, func(t *rapid.T) { simulateWorker(t) })
	})
}

func simulateWorker(t *rapid.T) {
	cfg := DefaultConfig()
	cfg.Incarnation, cfg.Autotuner, cfg.maxFailures = 99, session.Off, 1<<20
	s, err := New(cfg, newCountingPublisher())
	must(t, err)
	defer func() { s.Close(); synctest.Wait() }()
	e := &sliceEngine{pending: make(map[string]int), waited: make(map[string]int), longest: make(map[string]int)}
	must(t, s.AttachEngine("gpu0", testLimits, 0, e))
	queues := rapid.IntRange(2, 12).Draw(t, "queues")
	failing := rapid.Bool().Draw(t, "failing")
	seq, batches := uint64(0), 0
	prioritize := func(q int) {
		seq++
		r := &telemetry.Record{
			Header: telemetry.Header{Kind: telemetry.KindPriority, Incarnation: 7, Seq: seq},
			Priority: telemetry.Priority{
				Has:         telemetry.HasPriority | telemetry.HasCoefficient,
				Priority:    rapid.OneOf(rapid.Float64Range(0, 1e9), rapid.SampledFrom([]float64{0, 1, 1e9})).Draw(t, "priority"),
				Coefficient: rapid.Float64Range(0, 1).Draw(t, "coefficient"),
			},
		}
		must(t, s.Ingest("gpu0", fmt.Sprint("q", q), r, time.Now(), ""))
	}
	submit := func(q, slots int) {
		batches++
		s.Submit("gpu0", "gpu0", fmt.Sprint("q", q), &telemetry.Work{Batch: fmt.Sprint("b", batches), Slots: make([]telemetry.Slot, slots)}, 0, func(telemetry.Outcome, error) {})
	}
	for q := range queues {
		prioritize(q)
		submit(q, rapid.IntRange(1, 60).Draw(t, "slots"))
	}
	synctest.Wait()
	for range rapid.IntRange(50, 150).Draw(t, "launches") {
		switch rapid.IntRange(0, 9).Draw(t, "event") {
		case 0:
			prioritize(rapid.IntRange(0, queues-1).Draw(t, "queue"))
		case 1, 2, 3:
			submit(rapid.IntRange(0, queues-1).Draw(t, "queue"), rapid.IntRange(1, 30).Draw(t, "slots"))
		}
		synctest.Wait()
		if e.settle == nil {
			continue // nobody has work
		}
		fails := failing && rapid.IntRange(0, 19).Draw(t, "fails") == 0
		e.land(rapid.IntRange(1, 5).Draw(t, "ran"), fails)
		synctest.Wait()
		if fails {
			time.Sleep(retryMax) // in fake time: a pause is not starvation
			synctest.Wait()
		}
	}
	for e.work() > 0 { // no more of it comes: all of it runs
		if e.settle == nil {
			t.Fatalf("nothing runs, pending %v", e.pending)
		}
		e.land(5, false)
		synctest.Wait()
	}
	// The bound of policy.PickQueue; the launch under way when work arrives
	// counts as well.
	bound := (policy.AgeLaunches + 1) * queues
	for q, n := range e.longest {
		if n > bound {
			t.Fatalf("queue %s with work waited for %d launches, want at most %d", q, n, bound)
		}
	}
	for q := range queues {
		if n := e.pending[fmt.Sprint("q", q)]; n != 0 {
			t.Fatalf("queue %d has %d slots left", q, n)
		}
	}
}

func (e *sliceEngine) work() (slots int) {
	for _, n := range e.pending {
		slots += n
	}
	return slots
}
