package actors

import (
	"testing"

	"ringmaster/telemetry"
)

// BenchmarkFold is the cost of one record in the cell, while nobody decides.
func BenchmarkFold(b *testing.B) {
	var c cell
	r := queueRecord(7, 0, 100)
	b.ReportAllocs()
	for b.Loop() {
		r.Seq++
		if _, err := c.fold(r, "", 0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkIngest is the cost of one record with the actors deciding behind
// it as fast as they can.
func BenchmarkIngest(b *testing.B) {
	pub := newCountingPublisher()
	s := newSystem(b, pub)
	defer s.Close()
	attach(b, s)
	r := queueRecord(7, 0, 100)
	b.ReportAllocs()
	for b.Loop() {
		r.Seq++
		if err := s.Ingest("gpu0", "q", r, ""); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(s.Stats().Decisions)/float64(b.N), "decisions/op")
}

// BenchmarkWakeToRecommendation is one record and its recommendation, one
// after the other: three actors and a publication.
func BenchmarkWakeToRecommendation(b *testing.B) {
	pub := newCountingPublisher()
	s := newSystem(b, pub)
	defer s.Close()
	attach(b, s)
	r := queueRecord(7, 0, 100)
	b.ReportAllocs()
	for b.Loop() {
		r.Seq++
		if err := s.Ingest("gpu0", "q", r, ""); err != nil {
			b.Fatal(err)
		}
		<-pub.changed
	}
}

// BenchmarkQueues is one status table of a thousand queues.
func BenchmarkQueues(b *testing.B) {
	s := newSystem(b, newCountingPublisher())
	defer s.Close()
	attach(b, s)
	name := []byte("q000")
	for i := range 1000 {
		name[1], name[2], name[3] = byte('0'+i/100), byte('0'+i/10%10), byte('0'+i%10)
		if err := s.Ingest("gpu0", string(name), queueRecord(7, 1, 100), ""); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if len(s.Queues()) != 1000 {
			b.Fatal("rows are missing")
		}
	}
}

func attach(b *testing.B, s *System) {
	if err := s.AttachEngine("gpu0", testLimits, 0, &promptEngine{pending: make(map[string][]telemetry.Done)}); err != nil {
		b.Fatal(err)
	}
}
