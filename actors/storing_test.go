package actors

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/decisionlog"
)

// memoryStore compares and sets in memory, as the stream's server does, and can lose what it
// is told to. Answers come from goroutines of their own.
type memoryStore struct {
	mu          sync.Mutex
	sequence    uint64
	queues      map[string][]*telemetry.Stored
	writes      int
	fate        func(write int) fate // nil: all goes well
	away        bool
	delay       time.Duration                                   // of each write
	answerDelay time.Duration                                   // from what was the last message to the answer that it is
	listener    func(worker, queue string, m *telemetry.Stored) // hears what is stored, as a follower would
}

// fate is what the network does to a write.
type fate uint8

const (
	arrives fate = iota
	arrivesAnswerLost
	arrivesLate // after the writer was told that nobody knows
	isLost
)

func newMemoryStore() *memoryStore { return &memoryStore{queues: make(map[string][]*telemetry.Stored)} }

func (s *memoryStore) Write(worker, queue string, expect uint64, r *telemetry.Recommendation, _ []string, done func(uint64, telemetry.Written)) {
	s.mu.Lock()
	away, fate := s.away, arrives
	if s.fate != nil {
		fate = s.fate(s.writes)
	}
	s.writes++
	s.mu.Unlock()
	copied := *r
	copied.Decided, copied.Reasons = slices.Clone(r.Decided), slices.Clone(r.Reasons)
	go func() {
		time.Sleep(s.delay)
		switch {
		case away:
			done(0, telemetry.WrittenAway)
		case fate == isLost:
			time.Sleep(time.Second)
			done(0, telemetry.WrittenUnknown)
		case fate == arrivesLate:
			time.Sleep(time.Second)
			done(0, telemetry.WrittenUnknown)
			time.Sleep(10 * time.Millisecond)
			s.accept(worker, queue, expect, &copied)
		case fate == arrivesAnswerLost:
			s.accept(worker, queue, expect, &copied)
			time.Sleep(time.Second)
			done(0, telemetry.WrittenUnknown)
		default:
			done(s.accept(worker, queue, expect, &copied))
		}
	}()
}

func (s *memoryStore) accept(worker, queue string, expect uint64, r *telemetry.Recommendation) (uint64, telemetry.Written) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, last := worker+"."+queue, uint64(0)
	if l := s.queues[name]; len(l) > 0 {
		last = l[len(l)-1].Sequence
	}
	if last != expect {
		return 0, telemetry.WrittenRefused
	}
	s.sequence++
	m := &telemetry.Stored{Sequence: s.sequence, Header: telemetry.Header{SentNs: time.Now().UnixNano()}, Recommendation: *r}
	s.queues[name] = append(s.queues[name], m)
	if s.listener != nil {
		s.listener(worker, queue, m)
	}
	return s.sequence, telemetry.WrittenStored
}

func (s *memoryStore) Last(worker, queue string, done func(*telemetry.Stored, error)) {
	go func() {
		s.mu.Lock()
		l, away := s.queues[worker+"."+queue], s.away
		s.mu.Unlock()
		time.Sleep(s.answerDelay)
		switch {
		case away:
			done(nil, errors.New("no answer"))
		case len(l) == 0:
			done(nil, nil)
		default:
			done(l[len(l)-1], nil)
		}
	}()
}

// newest is the number of a queue's last decision.
func (s *memoryStore) newest(name string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.queues[name]
	if len(l) == 0 {
		return 0
	}
	return l[len(l)-1].Recommendation.Decision
}

// decided is what the store has of a queue.
func (s *memoryStore) decided(t *testing.T, name string) (all []*decisionlog.Decided) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	previous := uint64(0)
	for _, m := range s.queues[name] {
		d, err := decisionlog.DecodeDecided(m.Recommendation.Decided)
		must(t, err)
		if d.Previous != previous || m.Recommendation.Decision != d.Entry.Decision || !m.Recommendation.Fenced {
			t.Fatalf("message %d follows %d, behind %d: %+v", m.Sequence, d.Previous, previous, m.Recommendation)
		}
		previous = m.Sequence
		all = append(all, d)
	}
	return all
}

// course is a course of records of a worker elsewhere, and what a process may be told in it.
type course struct {
	random   *rand.Rand
	still    bool // no launches
	seq      uint64
	launches uint64
	requeues uint64
}

// step hands systems one record, and says whether it asks for a decision.
func (c *course) step(t *testing.T, newest uint64, to ...*System) (asks bool) {
	t.Helper()
	c.seq++
	h := telemetry.Header{Incarnation: 7, Seq: c.seq, SentNs: int64(c.seq)}
	r := telemetry.Record{Header: h}
	kind := c.random.IntN(6)
	if c.still && kind > 0 {
		kind = 5
	}
	switch kind {
	case 0:
		r.Kind = telemetry.KindGraph
		r.Graph = telemetry.Graph{Has: telemetry.HasNodeCount | telemetry.HasEdgeCount | telemetry.HasFrontierDensityBps, NodeCount: 10_000, EdgeCount: 50_000, FrontierDensityBps: uint16(c.random.IntN(1_500))}
	case 1, 2:
		c.launches++
		r.Kind, r.Incarnation = telemetry.KindLaunch, 5
		r.Launch = telemetry.Launch{
			Has:    telemetry.HasStatus | telemetry.HasElapsedNs | telemetry.HasExecuted | telemetry.HasDecision,
			Launch: c.launches, Decision: max(newest, 1) - uint64(min(c.random.IntN(3), int(max(newest, 1)-1))),
			Executed: 1 + c.random.Uint64N(5_000), ElapsedNs: 1_000 + c.random.Uint64N(1<<22),
		}
		if c.random.IntN(10) == 0 {
			r.Launch.Status = telemetry.LaunchFailed
		}
	default:
		r.Kind = telemetry.KindQueue
		c.requeues += c.random.Uint64N(3)
		r.Queue = telemetry.Queue{Has: telemetry.HasQueueLen | telemetry.HasHotOpcodeCount | telemetry.HasRequeueCount, QueueLen: uint32(c.random.IntN(20_000)), HotOpcodeCount: uint32(c.random.IntN(6)), RequeueCount: c.requeues}
		if c.random.IntN(3) == 0 {
			r.Queue.Has &^= telemetry.HasHotOpcodeCount
		}
	}
	for _, s := range to {
		if err := s.Ingest("gpu1", "q", &r, time.Now(), ""); err != nil {
			t.Fatalf("record %d: %v", c.seq, err)
		}
	}
	synctest.Wait()
	return r.Kind != telemetry.KindLaunch
}

// process starts a system that decides with a store, as a process does.
func process(t *testing.T, store *memoryStore, incarnation uint64, owns func(string) bool) *System {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Incarnation, cfg.Owns = incarnation, owns
	if store != nil {
		cfg.Store = store
	}
	s, err := New(cfg, newCountingPublisher())
	must(t, err)
	return s
}

func announce(t testing.TB, s *System, seq uint64) {
	t.Helper()
	r := telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindWorker, Incarnation: 5, Seq: seq}}
	r.Worker = telemetry.Worker{Has: telemetry.HasWorkerMaxWorkgroupSizeX | telemetry.HasWorkerMaxWorkgroupsPerDimension | telemetry.HasWorkerMaxInvocationsPerWorkgroup,
		MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65535, MaxInvocationsPerWorkgroup: 1024}
	must(t, s.Announce("gpu1", &r))
}

// boot has a new process hear each queue's last message, as its follower does.
func (s *memoryStore) boot(t *testing.T, to *System) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.queues {
		must(t, to.Heard("gpu1", "q", l[len(l)-1]))
	}
}

// same compares decisions by their fields.
func same(t *testing.T, got, want []decisionlog.Entry) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d decisions, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if d := decisionlog.Diff(&got[i], &want[i]); len(d) > 0 {
			t.Fatalf("decision %d of input %d: %+v", want[i].Decision, want[i].Records.Last, d)
		}
	}
}

// restarts are the steps of a course before which a process restarts, and how it then learns what
// was decided: it has taken that over, it has just heard it, or it hears it behind the next record.
type restarts map[int]manner

type manner uint8

const (
	never manner = iota
	ready
	hearing
	late
)

// play is how a course is played.
type play struct {
	seed    uint64
	steps   int
	still   bool
	restart restarts
	delay   time.Duration // of each write
}

// rest lets what is under way end, every 20 steps.
func (p *play) rest(step int) {
	if step%20 == 19 {
		time.Sleep(10 * p.delay)
	}
}

// run plays a course with a process that restarts where told, and returns what was decided. It
// restarts behind a decision: launches reported since the last one are lost with a process that
// has no other beside it, as are all records on their way.
func run(t *testing.T, p play) (all []decisionlog.Entry) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryStore()
		store.delay = p.delay
		c := &course{random: rand.New(rand.NewPCG(p.seed, 0)), still: p.still}
		s := process(t, store, 99, nil)
		announce(t, s, 1)
		due, asks := never, false
		for i := range p.steps {
			p.rest(i)
			due = max(due, p.restart[i])
			how := never
			if due != never && asks {
				how, due = due, never
				s.Close()
				s = process(t, store, uint64(1000+i), nil)
			}
			if how == ready || how == hearing {
				store.boot(t, s)
			}
			if how == ready {
				synctest.Wait()
			}
			asks = c.step(t, store.newest("gpu1.q"), s)
			if how == late {
				store.boot(t, s)
				synctest.Wait()
			}
			time.Sleep(5 * time.Millisecond)
		}
		s.Close()
		for _, d := range store.decided(t, "gpu1.q") {
			all = append(all, d.Entry)
		}
	})
	return all
}

// A run with restarts decides as the run without them.
func TestRestartsChangeNoDecision(t *testing.T) {
	for _, test := range []struct {
		still bool
		seeds uint64
		how   []manner
	}{{false, 2, []manner{ready, hearing}}, {true, 1, []manner{ready, hearing, late}}} {
		const steps = 2_000
		for seed := range test.seeds {
			restart := make(restarts)
			random := rand.New(rand.NewPCG(seed, 1))
			for i := range 50 {
				restart[1+random.IntN(steps-1)] = test.how[i%len(test.how)]
			}
			without, with := run(t, play{seed: seed, steps: steps, still: test.still}), run(t, play{seed: seed, steps: steps, still: test.still, restart: restart})
			if len(without) < steps/2 {
				t.Errorf("seed %d: %d decisions", seed, len(without))
			}
			same(t, with, without)
		}
	}
}

// What a process heard of one queue's decision tells it the device of the worker's other queues, as soon as it
// has heard: a record of another queue may be the next thing that comes.
func TestADecisionThatIsHeardTellsTheDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryStore()
		s := process(t, store, 99, nil)
		announce(t, s, 1)
		c := &course{random: rand.New(rand.NewPCG(1, 0)), still: true}
		c.step(t, 0, s)
		s.Close()
		for i := range 100 { // the actor may have read it by then, and mostly has not
			s := process(t, store, uint64(1000+i), nil)
			store.boot(t, s)
			if v := s.devices["gpu1"].view.Load(); !v.known || v.limits.MaxWorkgroupSizeX != 1024 {
				t.Errorf("process %d knows %+v of the device", i, v.limits)
			}
			s.Close()
		}
	})
}

// What a process heard of a queue's decision tells the worker's other queues that it has work, for a second.
func TestADecisionThatIsHeardTellsOfWork(t *testing.T) {
	for _, test := range []struct {
		pause  time.Duration
		length uint32
		others uint32
	}{{recently / 2, 300, 1}, {recently / 2, 0, 0}, {2 * recently, 300, 0}} {
		synctest.Test(t, func(t *testing.T) {
			store := newMemoryStore()
			decide := func(s *System, queue string, length uint32) {
				must(t, s.Ingest("gpu1", queue, queueRecord(7, 1, length), time.Now(), ""))
				synctest.Wait()
			}
			s := process(t, store, 99, nil)
			announce(t, s, 1)
			decide(s, "a", test.length)
			s.Close()
			time.Sleep(test.pause)
			s = process(t, store, 100, nil)
			must(t, s.Heard("gpu1", "a", store.queues["gpu1.a"][0]))
			synctest.Wait()
			decide(s, "b", 300)
			s.Close()
			if d := store.decided(t, "gpu1.b"); len(d) != 1 || d[0].Entry.Request.OtherQueues != test.others {
				t.Errorf("%+v: %d decisions, %d other queues", test, len(d), d[0].Entry.Request.OtherQueues)
			}
		})
	}
}
