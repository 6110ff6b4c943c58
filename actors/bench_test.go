package actors

import (
	"fmt"
	"testing"
	"time"

	"ringmaster/telemetry"
)

// BenchmarkFold is the cost of one record in the cell, while nobody decides.
func BenchmarkFold(b *testing.B) {
	c := new(cell)
	r, at := queueRecord(7, 0, 100), time.Now()
	b.ReportAllocs()
	for b.Loop() {
		r.Seq++
		if _, err := c.fold(r, "", 0, at); err != nil {
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
		if err := s.Ingest("gpu0", "q", r, time.Now(), ""); err != nil {
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
		if err := s.Ingest("gpu0", "q", r, time.Now(), ""); err != nil {
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
		if err := s.Ingest("gpu0", string(name), queueRecord(7, 1, 100), time.Now(), ""); err != nil {
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

// BenchmarkPayload is one payload of 32 full records of 64 queues in turn, from
// its bytes to the cells, with the actors deciding behind it.
func BenchmarkPayload(b *testing.B) {
	s := newSystem(b, newCountingPublisher())
	defer s.Close()
	attach(b, s)
	const queues, perPayload, payloads = 64, 32, 4096
	names := make([]string, queues)
	for i := range names {
		names[i] = fmt.Sprintf("q%d", i)
	}
	list, incarnation, seq := make([][]byte, payloads), uint64(0), 0
	encode := func() {
		incarnation += 1 << 40
		seq = 0
		for i := range list {
			list[i] = list[i][:0]
			for range perPayload {
				turn := uint64(seq / queues)
				h := telemetry.Header{Incarnation: 1<<62 + incarnation, Seq: 1 + turn, SentNs: 1<<60 + int64(seq), Queue: names[seq%queues]}
				q := telemetry.Queue{
					Has: telemetry.HasAllQueue, QueueLen: uint32(1000 + seq%50_000), RequestedWorkerGroups: 256,
					MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024,
					RequestedHitCapacity: 65_536, ExpectedHitsPerItem: 1, HotOpcodeCount: 3, HotWindowCount: 2, MaxPriorityAge: 5,
					RequeueCount: 40*turn + uint64(seq%7), ExecutedCount: 4096 * turn, TakeOver: turn == 0,
				}
				if turn > 0 { // a record that tells an event is merged field by field
					q.Has &^= telemetry.HasQueueTakeOver
				}
				list[i] = telemetry.Append(list[i], telemetry.EncodingArray, h, &q)
				seq++
			}
		}
	}
	encode()
	var d telemetry.Decoder
	var r telemetry.Record
	n := 0
	for b.Loop() {
		if _, err := telemetry.Check(list[n], telemetry.DefaultTelemetryLimits); err != nil {
			b.Fatal(err)
		}
		d.Reset(list[n])
		at := time.Now()
		for range perPayload {
			if err := d.Next(&r); err != nil {
				b.Fatal(err)
			}
			if err := s.Ingest("gpu0", r.Header.Queue, &r, at, ""); err != nil {
				b.Fatal(err)
			}
		}
		if n++; n == payloads {
			b.StopTimer()
			encode()
			n = 0
			b.StartTimer()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/perPayload, "ns/record")
}
