package actors

import (
	"cmp"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// serialEngine is a device that runs launches one after the other, each for as long as its
// slots take.
type serialEngine struct {
	plainEngine
	slot time.Duration

	slotOf map[string]time.Duration // of queues whose slots take another time

	mu      sync.Mutex
	waiting map[string][]batchLeft
	free    time.Time
	deepest map[string]int
	busy    map[string]time.Duration
}

func newSerialEngine(slot time.Duration) *serialEngine {
	return &serialEngine{slot: slot, slotOf: make(map[string]time.Duration), waiting: make(map[string][]batchLeft), deepest: make(map[string]int), busy: make(map[string]time.Duration)}
}

func (e *serialEngine) Submit(queue string, w *telemetry.Work) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting[queue] = append(e.waiting[queue], batchLeft{w.Batch, len(w.Slots)})
	return nil
}

func (e *serialEngine) Launch(o Order, settled func(Report)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := Report{Launch: telemetry.Launch{Applied: WireGeometry(o.Plan.Geometry())}}
	waiting := e.waiting[o.Queue]
	for room := int(o.Plan.BatchDepth); room > 0 && len(waiting) > 0; {
		n := min(room, waiting[0].slots)
		room -= n
		r.Launch.Executed += uint64(n)
		if waiting[0].slots -= n; waiting[0].slots == 0 {
			r.Done = append(r.Done, telemetry.Done{Batch: waiting[0].id})
			waiting = waiting[1:]
		}
	}
	e.waiting[o.Queue] = waiting
	took := time.Duration(r.Launch.Executed) * cmp.Or(e.slotOf[o.Queue], e.slot)
	r.Launch.ElapsedNs = uint64(took)
	for _, b := range waiting {
		r.Pending += b.slots
	}
	if now := time.Now(); e.free.Before(now) {
		e.free = now
	}
	e.free = e.free.Add(took)
	e.deepest[o.Queue] = max(e.deepest[o.Queue], int(r.Launch.Executed))
	e.busy[o.Queue] += took
	time.AfterFunc(time.Until(e.free), func() { settled(r) })
}

// deepestOf is the most slots of a launch of a queue since it was asked before.
func (e *serialEngine) deepestOf(queue string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer delete(e.deepest, queue)
	return e.deepest[queue]
}

// shared runs a test on a worker with a serial engine. submit waits for nothing, and tells
// how long a batch took when it is done.
func shared(t *testing.T, slot time.Duration, run func(e *serialEngine, submit func(queue string, slots int, done func(time.Duration)))) {
	synctest.Test(t, func(t *testing.T) {
		cfg := DefaultConfig()
		cfg.Incarnation = 99
		s, err := New(cfg, newCountingPublisher())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		engine := newSerialEngine(slot)
		if err := s.AttachEngine("gpu0", testLimits, 0, engine); err != nil {
			t.Fatal(err)
		}
		batches := 0
		run(engine, func(queue string, slots int, done func(time.Duration)) {
			batches++
			begin := time.Now()
			work := telemetry.Work{Batch: fmt.Sprint("b", batches), Slots: make([]telemetry.Slot, slots)}
			s.Submit("gpu0", queue, &work, 0, func(o telemetry.Outcome, err error) {
				if o != telemetry.OutcomeDone {
					t.Errorf("batch of %s: %v, %v", queue, o, err)
				}
				done(time.Since(begin))
			})
		})
	})
}

// Small work that comes all the time beside a backlog of heavy batches waits for the launches
// under way, and those end in their turn. The backlog loses the small work's time only, and
// once it is alone its launches take all they can.
func TestSmallWorkBesideABacklogWaitsForItsTurn(t *testing.T) {
	const slot = 25 * time.Microsecond
	shared(t, slot, func(e *serialEngine, submit func(string, int, func(time.Duration))) {
		ignore := func(time.Duration) {}
		submit("backlog", 256, ignore) // of which the cost is learned
		time.Sleep(10 * time.Millisecond)
		var mu sync.Mutex
		var longest, backlog time.Duration
		urgent := func() {
			submit("urgent", 16, func(took time.Duration) {
				mu.Lock()
				longest = max(longest, took)
				mu.Unlock()
			})
		}
		urgent()
		time.Sleep(5 * time.Millisecond)
		e.deepestOf("backlog")
		for range 64 {
			submit("backlog", 256, func(took time.Duration) {
				mu.Lock()
				backlog = max(backlog, took)
				mu.Unlock()
			})
		}
		for range 120 {
			urgent()
			time.Sleep(5 * time.Millisecond)
		}
		synctest.Wait()
		turn := time.Duration(policy.Standard().Sizing.TurnUs) * time.Microsecond
		if longest > 2*turn+16*slot {
			t.Errorf("urgent work took %v, with turns of %v", longest, turn)
		}
		if whole := 64 * 256 * slot; backlog == 0 || backlog > whole*10/9 {
			t.Errorf("the backlog took %v, alone it takes %v", backlog, whole)
		}
		if n := e.deepestOf("backlog"); time.Duration(n)*slot > turn {
			t.Errorf("a launch of %d slots beside urgent work", n)
		}
		time.Sleep(2 * recently)
		for range 64 {
			submit("backlog", 256, ignore)
		}
		time.Sleep(time.Second)
		if n := e.deepestOf("backlog"); n < 16*256 {
			t.Errorf("a launch of %d slots at most, alone", n)
		}
	})
}

// Queues that always have work get the same of the device's time, though launches of one take
// up to twice as long as those of another.
func TestEqualQueuesGetTheSameTime(t *testing.T) {
	shared(t, 5*time.Microsecond, func(e *serialEngine, submit func(string, int, func(time.Duration))) {
		const queues = 8
		stop := time.Now().Add(time.Second)
		for q := range queues {
			name := fmt.Sprint("q", q)
			e.slotOf[name] = e.slot * time.Duration(queues+q) / queues
			var again func(time.Duration)
			again = func(time.Duration) {
				if time.Now().Before(stop) {
					submit(name, 1_024, again)
				}
			}
			submit(name, 256, again)
			submit(name, 1_024, again)
			submit(name, 1_024, again)
		}
		time.Sleep(time.Until(stop))
		synctest.Wait()
		e.mu.Lock()
		least, most := time.Hour, time.Duration(0)
		for q := range queues {
			got := e.busy[fmt.Sprint("q", q)]
			least, most = min(least, got), max(most, got)
		}
		e.mu.Unlock()
		if float64(least) < .8*float64(most) {
			t.Errorf("least %v, most %v of the device's time", least, most)
		}
		time.Sleep(time.Minute)
	})
}
