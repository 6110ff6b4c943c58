package actors

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/telemetry"
)

// A queue that nobody speaks of costs at most this much, heap and stacks.
const maxIdleBytes = 2048

// One record each for 100,000 queues: however many of them are live on the
// way, they all end up parked, decided and cheap.
func TestIdleQueuesAreCheap(t *testing.T) {
	queues, most := 100_000, int64(maxIdleBytes)
	if raceEnabled || testing.Short() {
		queues, most = 5_000, math.MaxInt64 // too few to outweigh what the runtime keeps
	}
	cfg := DefaultConfig()
	cfg.Incarnation = 99
	cfg.Heartbeat, cfg.ParkAfter, cfg.IdleAfter = time.Hour, time.Hour, 24*time.Hour // the test sweeps itself
	cfg.MaxLive = 1024
	s, err := New(cfg, newCountingPublisher())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Announce("gpu0", workerRecord(5, 1)); err != nil {
		t.Fatal(err)
	}
	before := memoryInUse()
	// Runners start when there is something for them, and stay.
	goroutines := runtime.NumGoroutine() + s.shell.runners.limit
	for i := range queues {
		if err := s.Ingest("gpu0", fmt.Sprintf("queue-%06d", i), queueRecord(7, 1, 300), ""); err != nil {
			t.Fatal(err)
		}
	}
	for s.live.Load() > 0 || runtime.NumGoroutine() > goroutines {
		s.tick.Add(1)
		s.sweep(func(int) bool { runtime.Gosched(); return true })
	}
	if st := s.Stats(); st.Decisions != uint64(queues) || st.Queues != queues || st.DeadLetters != 0 {
		t.Errorf("%d queues and %d decisions for %d records, %d dead letters", st.Queues, st.Decisions, queues, st.DeadLetters)
	}
	each := (memoryInUse() - before) / int64(queues)
	t.Logf("%d bytes a queue", each)
	if each > most {
		t.Errorf("an idle queue takes %d bytes, want at most %d", each, most)
	}
	runtime.KeepAlive(s)
}

// Queues with nothing to do make room for others long before they are idle.
func TestLiveQueuesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := DefaultConfig()
		cfg.Incarnation, cfg.MaxLive = 99, 8
		s, err := New(cfg, newCountingPublisher())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for seq := range uint64(3) {
			for i := range 100 {
				if err := s.Ingest("gpu0", fmt.Sprint("q", i), queueRecord(7, seq+1, 300), ""); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if live := s.Stats().QueuesLive; live > cfg.MaxLive {
					t.Fatalf("%d queues are live, want at most %d", live, cfg.MaxLive)
				}
			}
		}
		if st := s.Stats(); st.Decisions != 300 || st.Queues != 100 {
			t.Errorf("stats %+v", st)
		}
	})
}

// More queues than one chunk of a sweep, live and parked: each has one
// heartbeat in each interval, and all of them are forgotten in the end.
func TestEveryQueueHasEveryHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const queues = 3*sweepChunk + 7
		pub := newCountingPublisher()
		s := newSystem(t, pub)
		defer s.Close()
		for i := range queues {
			if err := s.Ingest("gpu0", fmt.Sprint("q", i), queueRecord(7, 1, 300), ""); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second / 2) // in fake time: between two beats
		synctest.Wait()
		for beats := uint64(1); beats <= 20; beats++ {
			time.Sleep(time.Second)
			synctest.Wait()
			if got, want := s.Stats().Heartbeats, beats*queues; got != want {
				t.Fatalf("%d heartbeats after %d intervals, want %d", got, beats, want)
			}
		}
		if st := s.Stats(); st.QueuesLive != 0 || st.Queues != queues {
			t.Errorf("%d of %d queues are live after 20 seconds of silence", st.QueuesLive, st.Queues)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if st := s.Stats(); st.Queues != 0 || st.Decisions != queues || st.DeadLetters != 0 {
			t.Errorf("stats %+v after they were idle", st)
		}
	})
}

// A queue that never came to a decision says why it has none.
func TestAStoppedQueueWithoutADecisionSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := DefaultConfig()
		cfg.Incarnation = 99
		broken := true
		s, err := start(cfg, newCountingPublisher(), tap{before: func(actor string, _ message) {
			if actor == "queue" && broken {
				panic("scripted: queue")
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Ingest("gpu0", "q", queueRecord(7, 1, 300), ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		r, ok := s.Latest("gpu0", "q")
		if st := s.Stats(); !ok || r.Decision != 0 || !strings.Contains(r.Error, ErrUnstable.Error()) || st.QueuesStopped != 1 || st.Restarts != StopPanics {
			t.Fatalf("latest %+v %t, stats %+v", r, ok, st)
		}
		broken = false
		if err := s.Ingest("gpu0", "q", queueRecord(7, 2, 400), ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(cfg.StopPause)
		synctest.Wait()
		r, _ = s.Latest("gpu0", "q")
		if st := s.Stats(); r.Decision != 1 || r.AnsweredSeq != 2 || strings.Contains(r.Error, ErrUnstable.Error()) || st.QueuesStopped != 0 || st.Stops != 1 {
			t.Errorf("after its rest: latest %+v, stats %+v", r, st)
		}
	})
}

func memoryInUse() int64 {
	var m runtime.MemStats
	for range 3 { // pools need more than one cycle to empty
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func workerRecord(incarnation, seq uint64) *telemetry.Record {
	return &telemetry.Record{
		Header: telemetry.Header{Kind: telemetry.KindWorker, Incarnation: incarnation, Seq: seq},
		Worker: telemetry.Worker{
			Has:               telemetry.HasWorkerMaxWorkgroupSizeX | telemetry.HasWorkerMaxWorkgroupsPerDimension | telemetry.HasWorkerMaxInvocationsPerWorkgroup,
			MaxWorkgroupSizeX: testLimits.MaxWorkgroupSizeX, MaxWorkgroupsPerDimension: testLimits.MaxWorkgroupsPerDimension,
			MaxInvocationsPerWorkgroup: testLimits.MaxInvocationsPerWorkgroup,
		},
	}
}
