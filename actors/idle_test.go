package actors

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"ringmaster/telemetry"
)

// A queue that nobody speaks of costs at most this much, heap and stacks.
const maxIdleBytes = 2048

// One record each for 100,000 queues: however many of them are live on the
// way, they all end up parked, decided and cheap.
func TestIdleQueuesAreCheap(t *testing.T) {
	queues := 100_000
	if raceEnabled || testing.Short() {
		queues = 5_000 // under the race detector it measures the detector
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
	most := int64(0)
	for i := range queues {
		if err := s.Ingest("gpu0", fmt.Sprintf("queue-%06d", i), queueRecord(7, 1, 300), ""); err != nil {
			t.Fatal(err)
		}
		most = max(most, s.live.Load())
	}
	for s.live.Load() > 0 {
		s.tick.Add(1)
		s.sweep(func(int) bool { runtime.Gosched(); return true })
	}
	if st := s.Stats(); st.Decisions != uint64(queues) || st.Queues != queues || st.DeadLetters != 0 {
		t.Errorf("%d queues and %d decisions for %d records, %d dead letters", st.Queues, st.Decisions, queues, st.DeadLetters)
	}
	each := (memoryInUse() - before) / int64(queues)
	t.Logf("%d bytes a queue, at most %d live", each, most)
	if !raceEnabled && each > maxIdleBytes {
		t.Errorf("an idle queue takes %d bytes, want at most %d", each, maxIdleBytes)
	}
	runtime.KeepAlive(s)
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
