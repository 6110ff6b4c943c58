package actors

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// serialEngine is a device that runs launches one after the other, each for as long as its
// slots take.
type serialEngine struct {
	plainEngine
	slot  time.Duration
	host  time.Duration // that a launch takes besides, while the device may run another
	clock bool          // the device's own tells how long a launch has it

	system  *System
	lease   policy.Lease
	refuses bool // the lease takes nothing
	leased  []bool

	mu         sync.Mutex
	slotOf     map[string]time.Duration // of queues whose slots take another time
	deadlineOf map[string]uint32        // ms, of queues whose batches have one
	waiting    map[string][]batchLeft
	free       time.Time
	under      int // launches under way, and the most of them
	most       int
	deepest    map[string]int
	busy       map[string]time.Duration
}

func newSerialEngine(slot time.Duration) *serialEngine {
	return &serialEngine{slot: slot, slotOf: make(map[string]time.Duration), deadlineOf: make(map[string]uint32), waiting: make(map[string][]batchLeft), deepest: make(map[string]int), busy: make(map[string]time.Duration)}
}

// set changes an entry of slotOf or deadlineOf while the engine may be at work.
func set[V any](e *serialEngine, of map[string]V, queue string, v V) {
	e.mu.Lock()
	defer e.mu.Unlock()
	of[queue] = v
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
	r.LeaseRefused = e.refuses && o.Plan.LaunchMode == policy.LaunchLease
	e.leased = append(e.leased, o.Plan.LaunchMode == policy.LaunchLease)
	took := time.Duration(r.Launch.Executed) * cmp.Or(e.slotOf[o.Queue], e.slot)
	r.Launch.ElapsedNs, r.Launch.WallNs = uint64(took), uint64(took+e.host)
	if e.clock {
		r.Launch.Has, r.Launch.TimeSource = telemetry.HasTimeSource, telemetry.TimeQuery
	}
	for _, b := range waiting {
		r.Pending += b.slots
	}
	if now := time.Now(); e.free.Before(now) {
		e.free = now
	}
	e.free = e.free.Add(took)
	e.deepest[o.Queue] = max(e.deepest[o.Queue], int(r.Launch.Executed))
	e.busy[o.Queue] += took
	e.under++
	e.most = max(e.most, e.under)
	time.AfterFunc(time.Until(e.free)+e.host, func() {
		e.mu.Lock()
		e.under--
		e.mu.Unlock()
		settled(r)
	})
}

func (e *serialEngine) Lease() policy.Lease {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lease
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
		must(t, err)
		defer s.Close()
		engine := newSerialEngine(slot)
		engine.system = s
		must(t, s.AttachEngine("gpu0", testLimits, 0, engine))
		batches := 0
		run(engine, func(queue string, slots int, done func(time.Duration)) {
			begin := time.Now()
			engine.mu.Lock()
			batches++
			work := telemetry.Work{Batch: fmt.Sprint("b", batches), Slots: make([]telemetry.Slot, slots), DeadlineMs: engine.deadlineOf[queue]}
			engine.mu.Unlock()
			s.Submit("gpu0", "gpu0", queue, &work, 0, func(o telemetry.Outcome, err error) {
				if o != telemetry.OutcomeDone {
					t.Errorf("batch of %s: %v, %v", queue, o, err)
				}
				done(time.Since(begin))
			})
		})
	})
}

// resubmits is what is to be done when a batch of a queue is: another of so many slots, until stop.
func resubmits(submit func(string, int, func(time.Duration)), queue string, slots int, stop time.Time) (again func(time.Duration)) {
	again = func(time.Duration) {
		if time.Now().Before(stop) {
			submit(queue, slots, again)
		}
	}
	return again
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
			set(e, e.slotOf, name, e.slot*time.Duration(queues+q)/queues)
			again := resubmits(submit, name, 1_024, stop)
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

// Short launches of several queues are under way together, because the host takes longer for
// each than the device. Long ones are not: whoever comes would wait for all of them. But where the
// device's clock tells for how long the host has to do with one, the next begins so long before
// the end, and the device does not wait.
func TestLaunchesOfSeveralQueuesGoTogether(t *testing.T) {
	for _, c := range []struct {
		slots     int
		clock     bool
		wantMost  int
		busyLeast float64 // of the time
	}{{64, false, 3, 0}, {4_096, false, 1, 0}, {4_096, true, 2, 0.99}} {
		shared(t, 400*time.Nanosecond, func(e *serialEngine, submit func(string, int, func(time.Duration))) {
			slots := c.slots
			e.host, e.clock = 200*time.Microsecond, c.clock
			for q := range 8 {
				submit(fmt.Sprint("q", q), slots, func(time.Duration) {}) // of which the cost is learned
			}
			time.Sleep(time.Second)
			e.mu.Lock()
			e.most = 0
			clear(e.busy)
			e.mu.Unlock()
			const span = 100 * time.Millisecond
			stop := time.Now().Add(span)
			for q := range 8 {
				resubmits(submit, fmt.Sprint("q", q), slots, stop)(0)
			}
			time.Sleep(span)
			busy := time.Duration(0)
			e.mu.Lock()
			most := e.most
			for _, had := range e.busy {
				busy += had
			}
			e.mu.Unlock()
			time.Sleep(time.Second) // until all is done
			if share := float64(busy) / float64(span); most != c.wantMost || share < c.busyLeast {
				t.Errorf("%+v: %d launches under way at most, the device busy for %.2f of the time", c, most, share)
			}
		})
	}
}

// A latency target and the deadlines of a queue's batches bound the launches of the others for
// as long as that queue has work, and its own.
func TestWhoeverIsWaitedForByTheClockShortensTheOthersLaunches(t *testing.T) {
	const slot = 5 * time.Microsecond
	for name, want := range map[string]func(e *serialEngine){
		"target": func(e *serialEngine) {
			r := queueRecord(7, 1, 0)
			r.Queue = telemetry.Queue{Has: telemetry.HasLatencyTargetMs, LatencyTargetMs: 2}
			must(t, e.system.Ingest("gpu0", "urgent", r, time.Now(), ""))
		},
		"deadline": func(e *serialEngine) { set(e, e.deadlineOf, "urgent", 2) },
	} {
		t.Run(name, func(t *testing.T) {
			shared(t, slot, func(e *serialEngine, submit func(string, int, func(time.Duration))) {
				ignore := func(time.Duration) {}
				longest := func(queue string) time.Duration { return time.Duration(e.deepestOf(queue)) * slot }
				work := func() {
					for range 64 {
						submit("backlog", 256, ignore)
					}
					for range 10 {
						submit("urgent", 1_024, ignore)
						time.Sleep(5 * time.Millisecond)
					}
				}
				work()
				time.Sleep(time.Second / 2)
				if took := longest("backlog"); took < time.Millisecond {
					t.Errorf("a launch of %v at most, before anybody is waited for", took)
				}
				want(e)
				submit("urgent", 16, ignore)
				time.Sleep(time.Millisecond)
				longest("backlog")
				longest("urgent")
				work()
				time.Sleep(time.Second / 2)
				for _, queue := range []string{"backlog", "urgent"} {
					if took := longest(queue); took > 500*time.Microsecond {
						t.Errorf("a launch of %s takes %v, with 2 ms for all", queue, took)
					}
				}
				time.Sleep(3 * recently)
				submit("backlog", 256, ignore)
				time.Sleep(time.Millisecond)
				for range 64 {
					submit("backlog", 256, ignore)
				}
				time.Sleep(time.Second)
				if took := longest("backlog"); took < time.Millisecond {
					t.Errorf("a launch of %v at most, long after nobody is waited for", took)
				}
			})
		})
	}
}

// A deadline counts for a while after the last batch that had one as short.
func TestADeadlineIsForgotten(t *testing.T) {
	s := &System{}
	d := goalDevice(s)
	l := &lane{family: &family{system: s, device: d}}
	l.family.working.Store(true)
	at := time.Now()
	for _, step := range []struct {
		after    time.Duration
		deadline uint32
		want     uint32
	}{
		{0, 0, 0}, {0, 20, 20}, {0, 10, 10}, {0, 20, 10}, {recently, 0, 10}, {1, 20, 20}, {recently / 2, 20, 20},
		{recently / 2, 30, 20}, {recently, 0, 0}, {0, 5, 5},
	} {
		at = at.Add(step.after)
		l.wanted(&batch{work: telemetry.Work{DeadlineMs: step.deadline}}, at)
		if got := d.sharing.goal.Load(); got != step.want {
			t.Errorf("after %v with a deadline of %d ms: %d, want %d", step.after, step.deadline, got, step.want)
		}
	}
}

func goalDevice(s *System) *device {
	return &device{system: s, sharing: sharing{goals: make(map[*family]uint32)}}
}

// Deadlines that become shorter and shorter have the other queues decide a few times, not with
// each batch.
func TestDeadlinesThatDifferALittleAskForFewDecisions(t *testing.T) {
	shared(t, time.Microsecond, func(e *serialEngine, submit func(string, int, func(time.Duration))) {
		ignore := func(time.Duration) {}
		submit("other", 16, ignore)
		submit("urgent", 16, ignore)
		time.Sleep(time.Millisecond)
		submit("other", 16, ignore)
		time.Sleep(time.Millisecond)
		decisions := func() uint64 { return e.system.devices["gpu0"].families["other"].cell.totals().Decisions }
		before := decisions()
		for i := range uint32(400) {
			set(e, e.deadlineOf, "urgent", 900-i)
			submit("urgent", 1, ignore)
			time.Sleep(time.Millisecond)
		}
		if n := decisions() - before; n == 0 || n > 3 {
			t.Errorf("%d decisions", n)
		}
	})
}

// The least goal of the queues with work is known whatever comes and goes.
func TestTheLeastGoalIsKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &System{}
		d := goalDevice(s)
		queues := make([]*family, 5)
		for i := range queues {
			queues[i] = &family{system: s, device: d}
		}
		for range 100 {
			f := rapid.SampledFrom(queues).Draw(t, "queue")
			if rapid.Bool().Draw(t, "goal") {
				f.cell.target.Store(rapid.Uint32Range(0, 5).Draw(t, "target"))
				f.tellGoal()
			} else {
				f.works(rapid.Bool().Draw(t, "works"))
			}
			least := uint32(0)
			for _, f := range queues {
				if f.working.Load() {
					least = soonest(least, f.goal())
				}
			}
			if got := d.sharing.goal.Load(); got != least {
				t.Fatalf("%d, want %d", got, least)
			}
		}
	})
}

// A launcher elsewhere gets the decision that a worker here would: its queues know of each
// other from their records, for a second, once it reports its launches.
func TestQueuesOfAWorkerElsewhereKnowOfEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		last := make(map[string]policy.Request)
		cfg := DefaultConfig()
		cfg.Incarnation = 99
		cfg.OnDecision = func(d DecisionInput) {
			mu.Lock()
			defer mu.Unlock()
			last[d.Queue] = d.Request
		}
		s, err := New(cfg, newCountingPublisher())
		must(t, err)
		defer s.Close()
		must(t, s.Announce("gpu9", workerRecord(5, 1)))
		seq := uint64(0)
		send := func(queue string, r *telemetry.Record) {
			seq++
			r.Seq = seq
			must(t, s.Ingest("gpu9", queue, r, time.Now(), ""))
			synctest.Wait()
		}
		seen := func(queue string, length uint32) policy.Request {
			r := queueRecord(7, 1, length)
			r.Queue.Has |= telemetry.HasLatencyTargetMs
			r.Queue.LatencyTargetMs = map[string]uint32{"b": 20}[queue]
			send(queue, r)
			mu.Lock()
			defer mu.Unlock()
			return last[queue]
		}
		check := func(what string, got policy.Request, others, target uint32, unmeasured bool) {
			t.Helper()
			if got.OtherQueues != others || got.TargetMs != target || got.Unmeasured != unmeasured {
				t.Errorf("%s: %d others, target %d ms, unmeasured %t", what, got.OtherQueues, got.TargetMs, got.Unmeasured)
			}
		}
		check("alone", seen("a", 300), 0, 0, false)
		check("a second queue", seen("b", 300), 1, 20, false)
		check("the first again", seen("a", 300), 1, 20, false)
		send("b", &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindLaunch, Incarnation: 7}, Launch: telemetry.Launch{
			Has: telemetry.HasElapsedNs, Launch: 1, Executed: 100, ElapsedNs: 1000,
		}})
		check("once launches are reported", seen("a", 300), 1, 20, true)
		check("whose launch was", seen("b", 0), 1, 20, false)
		time.Sleep(recently + 2*cfg.heartbeat)
		check("later", seen("a", 300), 0, 0, true)
		time.Sleep(2 * cfg.idleAfter)
		synctest.Wait()
		if n := s.devices["gpu9"]; n != nil && n.sharing.working.Load() != 0 {
			t.Errorf("%d work, and all are forgotten", n.sharing.working.Load())
		}
	})
}

// A batch that would be late goes before its queue's turn, though others have had less of the
// device's time; without a deadline it waits for its share.
func TestABatchThatWouldBeLateGoesFirst(t *testing.T) {
	const slot, queues = 5 * time.Microsecond, 7
	burst := func(deadline uint32) (took time.Duration) {
		shared(t, slot, func(e *serialEngine, submit func(string, int, func(time.Duration))) {
			ignore := func(time.Duration) {}
			stop := time.Now().Add(time.Second)
			for q := range queues {
				name := fmt.Sprint("q", q)
				again := resubmits(submit, name, 1_024, stop)
				submit(name, 256, again)
				submit(name, 1_024, again)
			}
			submit("u", 256, ignore)
			time.Sleep(500 * time.Millisecond)
			set(e, e.deadlineOf, "u", deadline)
			submit("u", 2_048, func(d time.Duration) { took = d })
			time.Sleep(2 * time.Second)
		})
		return took
	}
	without, with := burst(0), burst(25)
	if without < 40*time.Millisecond || with > 25*time.Millisecond || with == 0 {
		t.Errorf("10 ms of work beside seven queues took %v, and %v when it was due in 25 ms", without, with)
	}
}

// The first launch of a queue beside others is small, and those that follow it take their turn
// without waiting for anything else to ask for a decision.
func TestTheFirstLaunchBesideOthersIsSmall(t *testing.T) {
	const slot = time.Microsecond
	shared(t, slot, func(e *serialEngine, submit func(string, int, func(time.Duration))) {
		submit("a", 100, func(time.Duration) {})
		time.Sleep(10 * time.Millisecond)
		submit("newcomer", 20_000, func(time.Duration) {})
		time.Sleep(100 * time.Microsecond)
		if n := e.deepestOf("newcomer"); n != 256 {
			t.Errorf("the first launch has %d slots", n)
		}
		time.Sleep(20 * time.Millisecond)
		if n := e.deepestOf("newcomer"); n < 1_024 {
			t.Errorf("then %d slots at most", n)
		}
		time.Sleep(50 * time.Millisecond)
	})
}

// Small launches are ordered for the lease that the engine offers, until it refuses them.
func TestLaunchesAreOrderedForTheLeaseUntilItRefusesThem(t *testing.T) {
	// A batch that finds the device free is launched by the plan before it came.
	for refuses, want := range map[bool][]bool{false: {false, false, true, true, true, true}, true: {false, false, true, true, false, false}} {
		shared(t, time.Microsecond, func(e *serialEngine, submit func(string, int, func(time.Duration))) {
			e.refuses = refuses
			for i := range want {
				if i == 1 {
					e.mu.Lock()
					e.lease.Slots = 256
					e.mu.Unlock()
				}
				submit("q", 16, func(time.Duration) {})
				time.Sleep(10 * time.Millisecond)
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			if !slices.Equal(e.leased, want) {
				t.Errorf("refuses %t: %v, want %v", refuses, e.leased, want)
			}
		})
	}
}

// What launches took is kept by how they ran, also those of a launcher elsewhere, and so is
// whether a compiled kernel is at hand there and what its lease takes.
func TestARequestKnowsWhatEachKernelTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last policy.Request
		cfg := DefaultConfig()
		cfg.Incarnation = 99
		cfg.OnDecision = func(d DecisionInput) { last = d.Request }
		s, err := New(cfg, newCountingPublisher())
		must(t, err)
		defer s.Close()
		announcement := workerRecord(5, 1)
		announcement.Worker.Has |= telemetry.HasLeaseSlots
		announcement.Worker.LeaseSlots = 128
		must(t, s.Announce("gpu9", announcement))
		seq := uint64(0)
		send := func(r *telemetry.Record) {
			seq++
			r.Seq = seq
			must(t, s.Ingest("gpu9", "q", r, time.Now(), ""))
		}
		for _, l := range []telemetry.Launch{
			{ElapsedNs: 100_000, CompiledReady: true},
			{ElapsedNs: 40_000, CompiledReady: true, ExecutionMode: telemetry.ExecutionJIT},
			{ElapsedNs: 70_000, Mode: telemetry.ModeLease},
			{ElapsedNs: 1 << 60}, // which no launch takes
		} {
			l.Has = telemetry.HasElapsedNs
			if l.Mode == telemetry.ModeWave {
				l.Has |= telemetry.HasCompiledReady
			}
			for range 8 {
				l.Launch, l.Executed = seq+1, 1_000
				send(&telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindLaunch, Incarnation: 7}, Launch: l})
			}
		}
		send(queueRecord(7, 1, 300))
		synctest.Wait()
		got := [...]uint64{last.Interpreted.SlotPs, last.Compiled.SlotPs, last.Leased.SlotPs, last.Cost.SlotPs}
		if want := [...]uint64{100_000, 40_000, 70_000, 40_000}; got != want || last.CompiledReady || last.Lease != (policy.Lease{Slots: 128}) {
			t.Errorf("%v, want %v, ready %t, %+v", got, want, last.CompiledReady, last.Lease)
		}
	})
}
