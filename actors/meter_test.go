package actors

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/ring"
	"ringmaster/telemetry"
)

// durations is a Meter that keeps what it is told.
type durations struct {
	mu                        sync.Mutex
	decided, waited, launched []time.Duration
}

func (m *durations) add(to *[]time.Duration, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*to = append(*to, d)
}
func (m *durations) Decided(d time.Duration)  { m.add(&m.decided, d) }
func (m *durations) Waited(d time.Duration)   { m.add(&m.waited, d) }
func (m *durations) Launched(d time.Duration) { m.add(&m.launched, d) }

// TestMeterIsToldHowLongThingsTake: a record that came 3 ms ago, one launch of work that has waited for 20 ms for
// its plan, and a launch that had the device for 1 µs. A decision that answers no record is not told.
func TestMeterIsToldHowLongThingsTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(durations)
		cfg := DefaultConfig()
		cfg.Incarnation, cfg.Meter = 99, m
		s, err := New(cfg, newCountingPublisher())
		must(t, err)
		defer s.Close()
		must(t, s.AttachEngine("w", testLimits, 0, &promptEngine{pending: make(map[string][]telemetry.Done)}))
		r := telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindQueue, Incarnation: 1, Seq: 1}, Queue: telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: 5}}
		must(t, s.Ingest("w", "q", &r, time.Now().Add(-3*time.Millisecond), ""))
		synctest.Wait()
		decidedAt := time.Now()
		s.Submit("w", "w", "q", &telemetry.Work{Batch: "b", Slots: make([]ring.Slot, 1)}, 0, func(telemetry.Outcome, error) {})
		time.Sleep(time.Second)
		synctest.Wait()
		m.mu.Lock()
		defer m.mu.Unlock()
		if want := []time.Duration{3 * time.Millisecond}; !slices.Equal(m.decided, want) {
			t.Errorf("decided %v, want %v: the decisions after the launch answer no record", m.decided, want)
		}
		if want := []time.Duration{time.Microsecond}; !slices.Equal(m.launched, want) {
			t.Errorf("launched %v, want %v", m.launched, want)
		}
		if want := []time.Duration{0}; !slices.Equal(m.waited, want) {
			t.Errorf("waited %v, want %v", m.waited, want)
		}
		row := s.Queues()[0]
		if row.Applied.WorkgroupSizeX == 0 || row.DeviceNs != 1000 || row.PlansChanged != 0 {
			t.Errorf("applied %+v, %d ns of the device, %d changed plans: want what the launch said, and the first plan", row.Applied, row.DeviceNs, row.PlansChanged)
		}
		if want := decidedAt.Add(-3 * time.Millisecond); !row.HeardAt.Equal(want) || row.DecidedAt.Before(decidedAt) {
			t.Errorf("heard at %v, want %v; decided at %v, want %v or later", row.HeardAt, want, row.DecidedAt, decidedAt)
		}
	})
}

// TestATakeOverIsCountedAndNotTimed: what a process heard while another decided did not wait for this one.
func TestATakeOverIsCountedAndNotTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var owns atomic.Bool
		m := new(durations)
		cfg := DefaultConfig()
		cfg.Incarnation, cfg.Meter, cfg.Store, cfg.Owns = 99, m, newMemoryStore(), func(string) bool { return owns.Load() }
		s, err := New(cfg, newCountingPublisher())
		must(t, err)
		defer s.Close()
		announce(t, s, 1)
		for seq := range 2 {
			r := telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindQueue, Incarnation: 1, Seq: uint64(seq + 1)}, Queue: telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: 5}}
			must(t, s.Ingest("gpu1", "q", &r, time.Now(), ""))
			time.Sleep(time.Minute)
			owns.Store(true)
			s.Reconsider("gpu1")
			synctest.Wait()
		}
		if got := s.Stats(); got.TakeOvers != 1 || got.Decisions < 2 {
			t.Errorf("%d take-overs in %d decisions, want 1 in 2 or more", got.TakeOvers, got.Decisions)
		}
		if len(m.decided) != 1 || m.decided[0] != 0 {
			t.Errorf("decided %v, want only the second record's, at once", m.decided)
		}
	})
}
