package actors

import (
	"testing"
	"time"

	"ringmaster/telemetry"
)

// promptStore stores what it is given at once.
type promptStore struct {
	sequence uint64
	stored   chan *telemetry.Stored
}

func (s *promptStore) Write(_, _ string, _ uint64, r *telemetry.Recommendation, _ []string, done func(uint64, telemetry.Written)) {
	s.sequence++
	done(s.sequence, telemetry.WrittenStored)
	s.stored <- &telemetry.Stored{Sequence: s.sequence, Recommendation: *r}
}

func (s *promptStore) Last(_, _ string, done func(*telemetry.Stored, error)) { done(nil, nil) }

// stores starts a system whose decisions count in a store, for a worker elsewhere.
func stores(b *testing.B) (*System, *promptStore) {
	store := &promptStore{stored: make(chan *telemetry.Stored, 1)}
	cfg := DefaultConfig()
	cfg.Incarnation, cfg.Store = 99, store
	s, err := New(cfg, newCountingPublisher())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	announce(b, s, 1)
	return s, store
}

// BenchmarkStoredDecision is a record, from its fold to a decision that a prompt store has.
func BenchmarkStoredDecision(b *testing.B) {
	s, store := stores(b)
	seq, bytes := uint64(0), 0
	for b.Loop() {
		seq++
		if err := s.Ingest("gpu1", "q", queueRecord(7, seq, uint32(seq*977%20_000)), time.Now(), ""); err != nil {
			b.Fatal(err)
		}
		bytes = len((<-store.stored).Recommendation.Decided)
	}
	b.ReportMetric(float64(bytes), "bytes")
}

// BenchmarkFollow is what it takes to go on from a message.
func BenchmarkFollow(b *testing.B) {
	s, store := stores(b)
	var m *telemetry.Stored
	for seq := uint64(1); seq < 100; seq++ {
		if err := s.Ingest("gpu1", "q", queueRecord(7, seq, uint32(seq*977%20_000)), time.Now(), ""); err != nil {
			b.Fatal(err)
		}
		m = <-store.stored
	}
	f := s.roster[0]
	for b.Loop() {
		if _, err := f.read(m); err != nil {
			b.Fatal(err)
		}
	}
}
