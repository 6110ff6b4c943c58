package actors

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/telemetry"
)

// boundedSystem is a system with few places, and a function that speaks of a queue.
func boundedSystem(t *testing.T, queues, workers int) (*System, func(worker, queue string) error) {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Incarnation, cfg.MaxQueues, cfg.maxWorkers = 99, queues, workers
	s, err := New(cfg, newCountingPublisher())
	must(t, err)
	seq := uint64(0)
	return s, func(worker, queue string) error {
		seq++
		return s.Ingest(worker, queue, queueRecord(7, seq, 300), time.Now(), "")
	}
}

func knows(s *System, worker, queue string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.family(worker, queue) != nil
}

// unpaced has every queue become known at once.
func unpaced(c *Config) { c.newQueues, c.newQueuesAtOnce = 1e9, 1e9 }

// A flood of names becomes known at a pace. What others have goes on meanwhile, and so do their first queues and a few
// new ones of workers that announced themselves.
func TestNewQueuesBecomeKnownAtAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, speak := boundedSystem(t, 100_000, 1_000)
		defer s.Close()
		must(t, s.Announce("calm", workerRecord(5, 1)))
		names := 0
		flood := func() (known int) {
			t.Helper()
			for range 2_000 {
				names++
				switch err := speak(fmt.Sprint("flood", names%4), fmt.Sprint("q", names)); {
				case err == nil:
					known++
				case !errors.Is(err, ErrNewQueues):
					t.Fatal(err)
				}
			}
			return known
		}
		if n := flood(); n != newQueuesAtOnce {
			t.Errorf("%d of a flood became known at once, want %d", n, newQueuesAtOnce)
		}
		for i := range ownQueuesAtOnce + 1 { // one of them is its first
			if err := speak("calm", fmt.Sprint("q", i)); err != nil {
				t.Errorf("queue %d of a worker that is announced: %v", i, err)
			}
		}
		if err := speak("calm", "more"); !errors.Is(err, ErrNewQueues) {
			t.Errorf("more of them: %v", err)
		}
		if err := speak("new", "q"); err != nil {
			t.Errorf("the first queue of a new worker: %v", err)
		}
		if err := speak("new", "another"); !errors.Is(err, ErrNewQueues) {
			t.Errorf("its second: %v", err)
		}
		if err := speak("calm", "q0"); err != nil {
			t.Errorf("a queue that is known: %v", err)
		}
		time.Sleep(time.Second / 5)
		if n := flood(); n != newQueues/5 {
			t.Errorf("%d became known in a fifth of a second, want %d", n, newQueues/5)
		}
		synctest.Wait()
	})
}

func TestAFloodOfQueueNamesKeepsNoOtherWorkersQueueOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 24
		s, speak := boundedSystem(t, places, 8)
		defer s.Close()
		names := 0
		flood := func(n int) {
			for range n {
				names++
				_ = speak("loud", fmt.Sprint("q", names)) // most are refused
				synctest.Wait()
			}
		}
		flood(2 * places)
		for i := range 3 { // in the middle of it
			if err := speak("calm", fmt.Sprint("q", i)); err != nil {
				t.Fatalf("queue %d of the calm worker: %v", i, err)
			}
			flood(10)
		}
		for range 300 { // the calm queues are silent all the time
			flood(20)
			time.Sleep(time.Second)
		}
		for i := range 3 {
			if !knows(s, "calm", fmt.Sprint("q", i)) {
				t.Errorf("queue %d of the calm worker had to give way", i)
			}
		}
		if st := s.Stats(); st.Queues != places || st.DeadLetters != 0 {
			t.Errorf("%d queues, want %d; %d dead letters", st.Queues, places, st.DeadLetters)
		}
	})
}

func TestAWorkerAboveItsShareGivesWayToOthersOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, speak := boundedSystem(t, 24, 8)
		defer s.Close()
		for w := range 3 {
			for q := range 24 {
				_ = speak(fmt.Sprint("w", w), fmt.Sprint("q", q)) // those above the share are refused
				synctest.Wait()
			}
		}
		for w := range 3 {
			if n := len(s.devices[fmt.Sprint("w", w)].families); n != 8 {
				t.Errorf("worker %d has %d queues of 24 for three", w, n)
			}
		}
		if err := speak("w0", "another"); !errors.Is(err, ErrQueueLimit) {
			t.Errorf("a queue of a worker that has its share: %v", err)
		}
	})
}

// Under one worker name nothing tells the names apart but when they were last heard.
func TestANewQueueGetsInBesideAFloodOfNamesOfItsOwnWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, speak := boundedSystem(t, 64, 8)
		defer s.Close()
		begin, in := time.Now(), time.Duration(0)
		for i := range 120 * 100 { // 2 minutes
			_ = speak("gpu0", fmt.Sprint("invented", i)) // 100 a second, most are refused
			if i%10 == 5 && i > 1000 {
				err := speak("gpu0", "new")
				if in == 0 && err == nil {
					in = time.Since(begin)
				}
				if in != 0 && err != nil {
					t.Fatalf("after %v: %v, although the queue was let in after %v", time.Since(begin), err, in)
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
		if in == 0 || in > 22*time.Second { // it began to try after 10 s
			t.Errorf("the new queue got in after %v", in)
		}
	})
}

func TestAQueueThatHasWorkHereGivesWayToNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, speak := boundedSystem(t, 2, 8)
		defer s.Close()
		must(t, s.AttachEngine("gpu0", testLimits, 0, &heldEngine{}))
		work := telemetry.Work{Batch: "b", Slots: make([]telemetry.Slot, 1)}
		s.Submit("gpu0", "gpu0", "busy", &work, 0, func(telemetry.Outcome, error) {})
		must(t, speak("gpu0", "idle"))
		time.Sleep(time.Minute)
		for i := range 5 {
			synctest.Wait() // a queue whose actors are at work does not give way
			if err := speak("gpu0", fmt.Sprint("new", i)); err != nil {
				t.Errorf("queue %d: %v", i, err)
			}
			time.Sleep(silentFor + time.Second)
		}
		if !knows(s, "gpu0", "busy") {
			t.Error("the queue with work had to give way")
		}
	})
}

func TestAFloodOfWorkerNamesKeepsNoWorkerOutThatAnnouncesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 8
		s, speak := boundedSystem(t, 100, places)
		defer s.Close()
		for round := range 30 {
			for i := range 10 * places {
				_ = speak(fmt.Sprint("invented", i), "q") // most are refused
				synctest.Wait()
			}
			if round >= 15 && round%5 == 0 { // as workers do
				must(t, s.Announce("gpu0", workerRecord(5, uint64(round))))
			}
			if round == 15 {
				must(t, speak("gpu0", "q"))
			}
			time.Sleep(time.Second)
		}
		r, ok := s.Latest("gpu0", "q")
		if !ok || r.WorkgroupSizeX == 0 {
			t.Errorf("the worker's queue has no plan: %+v", r)
		}
		if st := s.Stats(); st.Workers != places || st.DeadLetters != 0 {
			t.Errorf("%d workers, want %d; %d dead letters", st.Workers, places, st.DeadLetters)
		}
	})
}

func TestASilentWorkerGivesWayToAnyOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, speak := boundedSystem(t, 100, 2)
		defer s.Close()
		for i, name := range []string{"old", "new"} {
			must(t, s.Announce(name, workerRecord(5, uint64(i+1))))
			synctest.Wait()
		}
		must(t, speak("old", "q"))
		if err := s.Announce("third", workerRecord(5, 1)); !errors.Is(err, ErrWorkerLimit) {
			t.Errorf("a third worker beside two live ones: %v", err)
		}
		for range 1 + silentFor/time.Second {
			time.Sleep(time.Second)
			must(t, speak("new", "q"))
		}
		synctest.Wait() // a queue whose actors are at work does not give way
		if err := speak("third", "q"); err != nil {
			t.Errorf("a third worker beside a silent one: %v", err)
		}
		if !knows(s, "new", "q") || knows(s, "old", "q") {
			t.Error("the live one had to give way")
		}
	})
}

// beatRecorder notes when recommendations of queues came, and whether one came after its last had expired.
type beatRecorder struct {
	countingPublisher
	mu      sync.Mutex
	expires map[string]time.Time
	beats   map[string]int // of workers
	expired int
}

func (p *beatRecorder) Recommend(worker, queue string, r *telemetry.Recommendation, _ []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := p.expires[worker+queue]; !until.IsZero() && time.Now().After(until) {
		p.expired++
	}
	p.expires[worker+queue] = time.Now().Add(time.Duration(r.ValidForMs) * time.Millisecond)
	if r.Heartbeat {
		p.beats[worker]++
	}
}

// take returns the heartbeats of a worker since the last take.
func (p *beatRecorder) take(worker string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.beats[worker]
	p.beats[worker] = 0
	return n
}

func TestHeartbeatsAreBoundedAndNoRecommendationExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many, few = 3*workerBeats + 1, 5
		cfg := DefaultConfig()
		cfg.Incarnation = 99
		unpaced(&cfg)
		pub := &beatRecorder{expires: make(map[string]time.Time), beats: make(map[string]int)}
		s, err := New(cfg, pub)
		must(t, err)
		defer s.Close()
		for worker, queues := range map[string]int{"loud": many, "calm": few} {
			for i := range queues {
				must(t, s.Ingest(worker, fmt.Sprint("q", i), queueRecord(7, 1, 300), time.Now(), ""))
			}
		}
		time.Sleep(8*time.Second + time.Second/2) // it slows down by steps
		synctest.Wait()
		pub.take("loud")
		pub.take("calm")
		loud := 0
		for range 40 {
			time.Sleep(time.Second)
			synctest.Wait()
			n := pub.take("loud")
			if n > workerBeats {
				t.Errorf("%d heartbeats of the worker with many queues in one interval, at most %d", n, workerBeats)
			}
			loud += n
			if n := pub.take("calm"); n != few {
				t.Errorf("%d heartbeats of the worker with few queues, want %d", n, few)
			}
		}
		if loud != 10*many {
			t.Errorf("%d heartbeats of %d queues in 40 s, want one in 4 s of each", loud, many)
		}
		if r, _ := s.Latest("loud", "q1"); r.ValidForMs != 12_000 || pub.expired != 0 {
			t.Errorf("valid for %d ms, and %d recommendations expired", r.ValidForMs, pub.expired)
		}
	})
}
