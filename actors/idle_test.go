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
const maxIdleBytes = 12 << 10

// One record each for as many queues as a system knows by default.
func TestIdleQueuesAreCheap(t *testing.T) {
	cfg := DefaultConfig()
	queues, most := cfg.MaxQueues, int64(maxIdleBytes)
	if raceEnabled || testing.Short() {
		queues, most = 2_000, math.MaxInt64 // too few to outweigh what the runtime keeps
	}
	cfg.Incarnation = 99
	cfg.heartbeat, cfg.idleAfter = time.Hour, 24*time.Hour
	unpaced(&cfg)
	s, err := New(cfg, newCountingPublisher())
	must(t, err)
	defer s.Close()
	must(t, s.Announce("gpu0", workerRecord(5, 1)))
	before := memoryInUse()
	for i := range queues {
		must(t, s.Ingest("gpu0", fmt.Sprintf("queue-%06d", i), queueRecord(7, 1, 300), time.Now(), ""))
	}
	for s.Stats().Decisions < uint64(queues) {
		runtime.Gosched()
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

// More queues than one chunk of a sweep: each has one
// heartbeat in each interval, and all of them are forgotten in the end.
func TestEveryQueueHasEveryHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const queues = 3*sweepChunk + 7
		pub := newCountingPublisher()
		s := newSystem(t, pub)
		defer s.Close()
		for i := range queues {
			must(t, s.Ingest("gpu0", fmt.Sprint("q", i), queueRecord(7, 1, 300), time.Now(), ""))
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
		must(t, err)
		defer s.Close()
		must(t, s.Ingest("gpu0", "q", queueRecord(7, 1, 300), time.Now(), ""))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		r, ok := s.Latest("gpu0", "q")
		if st := s.Stats(); !ok || r.Decision != 0 || !strings.Contains(r.Error, ErrUnstable.Error()) || st.QueuesStopped != 1 || st.Restarts != stopPanics {
			t.Fatalf("latest %+v %t, stats %+v", r, ok, st)
		}
		broken = false
		must(t, s.Ingest("gpu0", "q", queueRecord(7, 2, 400), time.Now(), ""))
		time.Sleep(cfg.stopPause)
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
