package actors

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/decisionlog"
)

// check holds what is stored to the rules: each number once and in order, and inputs that increase.
func (s *memoryStore) check(t *testing.T, name string) []*decisionlog.Decided {
	t.Helper()
	number, input := uint64(0), uint64(0)
	all := s.decided(t, name)
	for _, d := range all {
		if d.Entry.Decision != number+1 && !d.Rejoined || d.Entry.Decision <= number || d.Entry.Records.Last < input {
			t.Fatalf("decision %d of input %d behind %d of %d", d.Entry.Decision, d.Entry.Records.Last, number, input)
		}
		number, input = d.Entry.Decision, d.Entry.Records.Last
	}
	return all
}

func queueLength(seq uint64) *telemetry.Record {
	r := queueRecord(7, seq, uint32(seq%5_000))
	r.SentNs = int64(seq)
	return r
}

// Records that come three times over and in any order are decided on once, in order.
func TestRecordsThatComeAgainAreNotDecidedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryStore()
		s := process(t, store, 99, nil)
		defer s.Close()
		announce(t, s, 1)
		const records = 10_000
		random := rand.New(rand.NewPCG(1, 0))
		order := make([]int, 3*records)
		for i := range order {
			order[i] = i / 3
		}
		for from := 0; from < len(order); from += 300 { // not all at once: the newest would end it
			part := order[from:min(from+300, len(order))]
			random.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		}
		for _, i := range order {
			_ = s.Ingest("gpu1", "q", queueLength(uint64(i+1)), time.Now(), "") // most are stale
			if random.IntN(10) == 0 {
				time.Sleep(10 * time.Millisecond)
			}
		}
		synctest.Wait()
		inputs := make(map[uint64]bool)
		all := store.check(t, "gpu1.q")
		for _, d := range all {
			if in := d.Entry.Records.Last; inputs[in] {
				t.Fatalf("input %d was decided on twice", in)
			} else {
				inputs[in] = true
			}
		}
		if !inputs[records] || len(all) < 100 {
			t.Errorf("%d decisions, the last of input %d", len(all), all[len(all)-1].Entry.Records.Last)
		}
	})
}

// Several processes that all believe to decide leave the stream of one.
func TestProcessesThatAllDecideLeaveTheStreamOfOne(t *testing.T) {
	const steps = 400
	for _, n := range []int{2, 4} {
		var got []decisionlog.Entry
		synctest.Test(t, func(t *testing.T) {
			store := newMemoryStore()
			c := &course{random: rand.New(rand.NewPCG(5, 0))}
			var all []*System
			store.listener = func(worker, queue string, m *telemetry.Stored) {
				for _, s := range all {
					_ = s.Heard(worker, queue, m)
				}
			}
			for i := range n {
				s := process(t, store, uint64(100+i), nil)
				announce(t, s, 1)
				all = append(all, s)
			}
			for range steps {
				c.step(t, store.newest("gpu1.q"), all...)
				time.Sleep(5 * time.Millisecond)
			}
			for _, s := range all {
				s.Close()
			}
			for _, d := range store.check(t, "gpu1.q") {
				got = append(got, d.Entry)
			}
		})
		same(t, got, run(t, play{seed: 5, steps: steps}))
	}
}

// A process may end at any point of a write, whatever the network does to it: nothing is decided
// twice, and the next process decides on the newest input.
func TestAProcessEndsAtAnyPointOfAWrite(t *testing.T) {
	for point := range 300 {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(point), 0))
			store := newMemoryStore()
			ends := 3 + random.IntN(20)
			store.fate = func(write int) fate {
				if write == ends {
					return fate(point % 4)
				}
				return arrives
			}
			s := process(t, store, 99, nil)
			announce(t, s, 1)
			seq := uint64(0)
			say := func() {
				seq++
				must(t, s.Ingest("gpu1", "q", queueLength(seq), time.Now(), ""))
			}
			for range ends {
				say()
				synctest.Wait()
			}
			say() // the write of which the process sees what fate leaves it
			time.Sleep([]time.Duration{0, time.Microsecond, 500 * time.Millisecond, time.Second, 1005 * time.Millisecond, 2 * time.Second}[point/4%6])
			s.Close()
			s = process(t, store, 100, nil)
			defer s.Close()
			announce(t, s, 1)
			if random.IntN(2) == 0 {
				store.boot(t, s)
			}
			for range 5 {
				say()
				time.Sleep(time.Millisecond)
			}
			time.Sleep(5 * time.Second)
			all := store.check(t, "gpu1.q")
			if last := all[len(all)-1]; last.Entry.Records.Last != seq || last.Node != 100 {
				t.Fatalf("point %d: the newest decision is on input %d of %d, by %d", point, last.Entry.Records.Last, seq, last.Node)
			}
		})
	}
}

// A process that was stopped and wakes up still believes that it decides. What it writes is
// refused, and it goes on from what the others decided.
func TestAProcessThatWakesUpDecidesNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryStore()
		asleep, other := process(t, store, 99, nil), process(t, store, 100, nil)
		var told refusedDecisions
		asleep.cfg.Adviser = &told
		defer asleep.Close()
		defer other.Close()
		announce(t, asleep, 1)
		announce(t, other, 1)
		for seq := uint64(1); seq <= 60; seq++ {
			to := []*System{asleep, other}
			switch {
			case seq <= 10:
				to = to[:1]
			case seq <= 50:
				to = to[1:]
			}
			for _, s := range to {
				must(t, s.Ingest("gpu1", "q", queueLength(seq), time.Now(), ""))
			}
			synctest.Wait()
		}
		all := store.check(t, "gpu1.q")
		if len(all) != 60 {
			t.Errorf("%d decisions of 60 records", len(all))
		}
		if n := asleep.Stats().DecisionsRefused; n == 0 || told.n.Load() != n {
			t.Errorf("%d decisions were refused, and %d told", n, told.n.Load())
		}
	})
}

// refusedDecisions counts what it is told of queue gpu1.q.
type refusedDecisions struct {
	unadvised
	n atomic.Uint64
}

func (r *refusedDecisions) DecisionRefused(worker, queue string, decision uint64) {
	if worker == "gpu1" && queue == "q" && decision > 0 {
		r.n.Add(1)
	}
}

// Without the store a local engine goes on, and joins again where it left or where another has
// gone on meanwhile.
func TestALocalEngineGoesOnAloneAndJoinsAgain(t *testing.T) {
	for _, another := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := newMemoryStore()
			s := process(t, store, 99, nil)
			defer s.Close()
			must(t, s.AttachEngine("gpu1", testLimits, 0, &promptEngine{pending: make(map[string][]telemetry.Done)}))
			seq := uint64(0)
			say := func(to *System, times int) {
				for range times {
					seq++
					must(t, to.Ingest("gpu1", "q", queueLength(seq), time.Now(), ""))
					time.Sleep(10 * time.Millisecond)
				}
			}
			away := func(is bool) {
				store.mu.Lock()
				store.away = is
				store.mu.Unlock()
			}
			say(s, 5)
			away(true)
			say(s, 20)
			f := s.roster[0]
			if told, _ := s.Latest("gpu1", "q"); told.Decision != 5 || f.latest.Load().Decision != 25 || f.standing.Load().State != StandsAlone {
				t.Errorf("told %d, launched by %d, %+v", told.Decision, f.latest.Load().Decision, f.standing.Load())
			}
			if n := s.Stats(); n.Standing[StandsAlone] != 1 || len(n.Unstored) != 1 || n.Unstored[0].Queue != "q" || n.Unstored[0].Why == "" || n.DecisionsAlone != 20 {
				t.Errorf("%v, %+v, %d alone", n.Standing, n.Unstored, n.DecisionsAlone)
			}
			away(false)
			if another {
				other := process(t, store, 100, nil)
				store.boot(t, other)
				announce(t, other, 1)
				say(other, 3)
				other.Close()
			}
			if another {
				time.Sleep(2 * time.Second) // a beat tries again
			} else {
				s.Reconsider("gpu1")
				synctest.Wait()
				if told, _ := s.Latest("gpu1", "q"); told.Decision != 26 {
					t.Errorf("told %d when the store is back", told.Decision)
				}
			}
			say(s, 5)
			all := store.check(t, "gpu1.q")
			last := all[len(all)-1]
			if last.Entry.Records.Last != seq || f.standing.Load().State != StandsStored || last.Entry.Decision < 26 {
				t.Errorf("another %t: last %+v, %+v", another, last.Entry.Records, f.standing.Load())
			}
			rejoined := 0
			for _, d := range all {
				if d.Rejoined {
					rejoined++
				}
			}
			if rejoined != 1 {
				t.Errorf("another %t: %d messages rejoin", another, rejoined)
			}
			if n := s.Stats(); n.Standing[StandsStored] != 1 || len(n.Standing) != 1 || len(n.Unstored) != 0 {
				t.Errorf("%v, %+v", n.Standing, n.Unstored)
			}
		})
	}
}

// Only who decides for a worker decides; the other knows all, and goes on at once. Where a write
// takes longer than it is to the next record, launches are reported while it is under way: to its
// writer, who settles them behind it, and to others, who have not heard of it yet.
func TestOwnershipMovesWithoutALoss(t *testing.T) {
	for _, p := range []play{{seed: 5, steps: 400}, {seed: 5, steps: 1_000, delay: 7013 * time.Microsecond}} {
		same(t, runMoving(t, p), run(t, p))
	}
}

// runMoving is run by three processes of which another decides every 20 steps.
func runMoving(t *testing.T, p play) (got []decisionlog.Entry) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryStore()
		store.delay = p.delay
		owner := 0
		var all []*System
		store.listener = func(worker, queue string, m *telemetry.Stored) {
			for _, s := range all {
				_ = s.Heard(worker, queue, m)
			}
		}
		var mu sync.Mutex
		for i := range 3 {
			s := process(t, store, uint64(100+i), func(string) bool {
				mu.Lock()
				defer mu.Unlock()
				return owner == i
			})
			defer s.Close()
			announce(t, s, 1)
			all = append(all, s)
		}
		c := &course{random: rand.New(rand.NewPCG(p.seed, 0))}
		for i := range p.steps {
			p.rest(i)
			if i%20 == 19 {
				mu.Lock()
				owner = (owner + 1) % 3
				mu.Unlock()
				for _, s := range all {
					s.Reconsider("gpu1")
				}
				synctest.Wait()
			}
			c.step(t, store.newest("gpu1.q"), all...)
			time.Sleep(5 * time.Millisecond)
		}
		nodes := make(map[decisionlog.ID]bool)
		for _, d := range store.check(t, "gpu1.q") {
			got, nodes[d.Node] = append(got, d.Entry), true
		}
		if len(nodes) != 3 {
			t.Errorf("%d processes decided", len(nodes))
		}
		for i, s := range all {
			if n := s.Stats().DecisionsRefused; n != 0 {
				t.Errorf("process %d: %d refused", i, n)
			}
		}
	})
	return got
}

// A message that this version may not understand is not followed: for a worker elsewhere nothing
// is decided, a local engine goes on alone.
func TestAMessageOfANewerVersionIsNotFollowed(t *testing.T) {
	for _, local := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := newMemoryStore()
			store.sequence = 4
			store.queues["gpu1.q"] = []*telemetry.Stored{{Sequence: 4, Recommendation: telemetry.Recommendation{Decision: 9, Decided: []byte(`{"format":2,"node":"1","write":"1"}`)}}}
			s := process(t, store, 99, nil)
			defer s.Close()
			store.boot(t, s)
			want := StandsInDoubt
			if local {
				want = StandsAlone
				must(t, s.AttachEngine("gpu1", testLimits, 0, &promptEngine{pending: make(map[string][]telemetry.Done)}))
			} else {
				announce(t, s, 1)
			}
			for seq := range uint64(20) {
				must(t, s.Ingest("gpu1", "q", queueLength(seq+1), time.Now(), ""))
				time.Sleep(time.Second)
			}
			if f := s.roster[0]; f.standing.Load().State != want || len(store.queues["gpu1.q"]) != 1 || (f.latest.Load() != nil) != local {
				t.Errorf("local %t: %+v, %d messages, %+v", local, f.standing.Load(), len(store.queues["gpu1.q"]), f.latest.Load())
			}
		})
	}
}

// A stream that was made anew counts its messages from 1. The decisions in it are newer by their numbers all the
// same, for a worker that only carries out what others decide.
func TestAWorkerFollowsIntoAStreamThatWasMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryStore()
		decider := process(t, store, 99, nil)
		defer decider.Close()
		announce(t, decider, 1)
		worker := process(t, newMemoryStore(), 100, func(string) bool { return false })
		defer worker.Close()
		must(t, worker.AttachEngine("gpu1", testLimits, 0, &promptEngine{pending: make(map[string][]telemetry.Done)}))
		for i, sequence := range []uint64{1001, 1002, 3, 4, 1003} { // the last comes late, of the stream before
			if i < 4 {
				must(t, decider.Ingest("gpu1", "q", queueLength(uint64(i+1)), time.Now(), ""))
				synctest.Wait()
			}
			all := store.queues["gpu1.q"]
			m := *all[min(i, 3)]
			want := m.Recommendation.Decision
			if i == 4 {
				m = *all[2]
			}
			m.Sequence = sequence
			must(t, worker.Heard("gpu1", "q", &m))
			synctest.Wait()
			if told, _ := worker.Latest("gpu1", "q"); told.Decision != want || worker.roster[0].latest.Load().Decision != want {
				t.Errorf("message %d: told %d, launches by %d, want %d", sequence, told.Decision, worker.roster[0].latest.Load().Decision, want)
			}
		}
	})
}

// While the store does not say what it has, the decision that it is known to have is repeated, so
// that subscribers keep to it.
func TestTheLastStoredDecisionIsRepeatedInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryStore()
		store.fate = func(write int) fate { return []fate{arrives, isLost}[min(write, 1)] }
		cfg := DefaultConfig()
		cfg.Incarnation, cfg.Store = 99, store
		told := make(chan telemetry.Recommendation, 100)
		s, err := New(cfg, tellingPublisher{newCountingPublisher(), told})
		must(t, err)
		defer s.Close()
		announce(t, s, 1)
		for seq := uint64(1); seq <= 2; seq++ {
			must(t, s.Ingest("gpu1", "q", queueLength(seq), time.Now(), ""))
			synctest.Wait()
		}
		store.mu.Lock()
		store.away = true
		store.mu.Unlock()
		time.Sleep(10 * time.Second)
		if f := s.roster[0]; f.standing.Load().State != StandsInDoubt || len(told) < 8 {
			t.Fatalf("%+v, %d repetitions in ten seconds", f.standing.Load(), len(told))
		}
		for len(told) > 0 {
			if r := <-told; r.Decision != 1 || !r.Heartbeat || !r.Fenced {
				t.Errorf("told %+v", r)
			}
		}
	})
}

// tellingPublisher hands on what is recommended.
type tellingPublisher struct {
	*countingPublisher
	told chan telemetry.Recommendation
}

func (p tellingPublisher) Recommend(_, _ string, r *telemetry.Recommendation, _ []string) {
	p.told <- *r
}

// What overtakes a write may itself be overtaken before the process has read it: a record that the newest decision
// answers is not decided on again because the one before it does not.
func TestARecordIsAnsweredOnceThoughTheAnswerComesBeforeTheDoubtIsCleared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryStore()
		slow, quick := process(t, store, 99, nil), process(t, store, 100, nil)
		defer slow.Close()
		defer quick.Close()
		ingest := func(s *System, seqs ...uint64) {
			t.Helper()
			for _, seq := range seqs {
				must(t, s.Ingest("gpu1", "q", queueLength(seq), time.Now(), ""))
			}
		}
		hear := func(s *System, decision int) {
			t.Helper()
			must(t, s.Heard("gpu1", "q", store.queues["gpu1.q"][decision-1]))
		}
		announce(t, slow, 1)
		announce(t, quick, 1)
		ingest(slow, 1)
		synctest.Wait()
		hear(quick, 1)
		ingest(quick, 2)
		synctest.Wait() // decision 2 is made, and slow has not heard of it
		store.answerDelay = time.Second
		ingest(slow, 2, 3)
		time.Sleep(time.Second / 2) // its write is refused, and it has asked for the last message, which is decision 2
		ingest(quick, 3)
		synctest.Wait()
		hear(slow, 3)
		time.Sleep(time.Minute / 4)
		if all := store.check(t, "gpu1.q"); len(all) != 3 {
			t.Errorf("%d decisions of 3 records; the last is of record %d", len(all), all[len(all)-1].Entry.Records.Last)
		}
	})
}
