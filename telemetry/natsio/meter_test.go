package natsio

import (
	"fmt"
	"testing"
	"time"

	"ringmaster/telemetry"
)

var epoch = time.Unix(1_700_000_000, 0)

// offer sends a message each pause for as long as span and returns how many
// are taken.
func offer(m *meter, worker, queue string, from time.Time, span, pause time.Duration) (taken int) {
	for at := time.Duration(0); at < span; at += pause {
		if m.admit(worker, queue, from.Add(at)) != nil {
			taken++
		}
	}
	return taken
}

func TestMeterTakesTheRateOfAFlood(t *testing.T) {
	m := newMeter(RateLimit{PerSecond: 1000, Burst: 500})
	taken := offer(m, "gpu0", "a", epoch, 10*time.Second, 20*time.Microsecond) // 50 times the rate
	if taken < 10_000 || taken > 10_000+2*500 {
		t.Errorf("%d of 500000 taken, want the rate for 10 s and at most two bursts: 10000..11000", taken)
	}
}

func TestMeterCountsWorkersApart(t *testing.T) {
	m := newMeter(RateLimit{PerSecond: 1000, Burst: 500})
	for i := range 1000 {
		at := epoch.Add(time.Duration(i) * time.Millisecond)
		offer(m, "loud", "a", at, time.Millisecond, 20*time.Microsecond)
		if m.admit("calm", "a", at) == nil {
			t.Fatalf("a worker at its rate is refused after %d ms because of another", i)
		}
	}
}

// Three seconds of 100,000 messages each under as many worker names, five times what one name may send.
func TestAFloodOfWorkerNamesLeavesOthersTheirRate(t *testing.T) {
	m := newMeter(RateLimit{PerSecond: 20_000, Burst: 40_000})
	for i := range 300_000 {
		at := epoch.Add(time.Duration(i) * 10 * time.Microsecond)
		m.admit(fmt.Sprint("invented", i), "q", at)
		if i%10_000 == 9_999 && m.admit("calm", "q", at) == nil {
			t.Fatalf("a record of another worker is refused after %v", at.Sub(epoch))
		}
	}
}

// calmQueue is a queue that has a place of its own beside "loud".
func calmQueue(m *meter) string {
	for i := 0; ; i++ {
		if q := fmt.Sprint("calm", i); m.place(q) != m.place("loud") {
			return q
		}
	}
}

// A bucket that was forgotten because it was idle must not be charged as the last one.
func TestForgottenBucketIsNotTheLastOne(t *testing.T) {
	b := newBuckets(func() *int { return new(int) }, func(*int, time.Time) bool { return true })
	now := time.Unix(1_700_000_000, 0)
	first := b.of("w", now)
	if b.of("w", now) != first {
		t.Fatal("another bucket for the same name")
	}
	for i := range maxBuckets {
		b.byWorker[fmt.Sprint(i)] = new(int)
	}
	b.of("another", now)
	if b.of("w", now) == first {
		t.Error("the bucket is forgotten")
	}
}

func TestQueueOfAnExhaustedWorkerIsHeardTenTimesASecond(t *testing.T) {
	m := newMeter(RateLimit{PerSecond: 1000, Burst: 500})
	calm := calmQueue(m)
	at := epoch
	for i := range 100 {
		offer(m, "gpu0", "loud", at, heardEvery, 20*time.Microsecond)
		if at = at.Add(heardEvery); m.admit("gpu0", calm, at) == nil {
			t.Fatalf("value %d of a queue that sends 10 a second is refused because of its sibling", i)
		}
	}
}

func TestManyQueuesOfOneWorkerDoNotRaiseItsRate(t *testing.T) {
	m := newMeter(RateLimit{PerSecond: 100, Burst: 50})
	taken := 0
	for i := range 100_000 { // 10 s
		if m.admit("gpu0", fmt.Sprint(i), epoch.Add(time.Duration(i)*100*time.Microsecond)) != nil {
			taken++
		}
	}
	if taken > 1000+2*50+1 {
		t.Errorf("%d taken in 10 s of 100 a second", taken)
	}
}

func TestMeterChargesEveryRecordOfAPayload(t *testing.T) {
	m := newMeter(RateLimit{PerSecond: 1000, Burst: 500})
	records := 0
	for i := range 10_000 { // 10 s
		at := epoch.Add(time.Duration(i) * time.Millisecond)
		if f := m.admit("gpu0", "a", at); f != nil {
			m.charge(f, 100, at)
			records += 100
		}
	}
	if records < 10_000 || records > 10_000+3*500 {
		t.Errorf("%d records taken in 10 s of 1000 a second", records)
	}
}

func TestHostileNamesDoNotGrowTheMeter(t *testing.T) {
	m := newMeter(RateLimit{PerSecond: 1000, Burst: 500})
	for i := range 100_000 {
		m.admit(fmt.Sprintf("w%d", i), fmt.Sprintf("q%d", i), epoch.Add(time.Duration(i)*time.Microsecond))
	}
	if n := len(m.buckets.byWorker); n != maxBuckets {
		t.Errorf("%d buckets, want %d", n, maxBuckets)
	}
	// Idle names make room for those that come later.
	later := epoch.Add(time.Minute)
	m.admit("late", "q", later)
	if n := len(m.buckets.byWorker); n != 1 || m.buckets.byWorker["late"] == nil {
		t.Errorf("%d buckets after a minute, want that of the new name", n)
	}
}

func TestLimitedPayloadsAreCountedAndReportedApart(t *testing.T) {
	limits := DefaultIngestConfig()
	limits.Telemetry = RateLimit{PerSecond: 1e-9, Burst: 1}
	d := openDoorWith(t, limits)
	d.runtime.reject.mistakes, d.runtime.reject.limited = newReports(1e-9, 1), newLimitedReports(1e-9, 1)
	for i := range uint32(50) { // one in the burst, one on credit
		d.publish(t, "a", queueRecord(i, ""))
	}
	for i := range uint32(2) {
		if got := receive(t, d.sink.calls); got.length != i {
			t.Errorf("sink got %+v, want record %d", got, i)
		}
	}
	if r := receive(t, d.rejected); r.Reason != ReasonRateLimited || r.Subject != "ringmaster.v1.telemetry.gpu0.a" {
		t.Errorf("rejected %+v, want %s", r, ReasonRateLimited)
	}
	must(t, d.client.nc.Publish("ringmaster.v1.worker.gpu0", []byte("bad")))
	if r := receive(t, d.invalid); r.Reason != telemetry.ReasonMalformed {
		t.Errorf("rejected %+v, want what is wrong beside the flood", r)
	}
	flush(t, d.client)
	must(t, d.ingest.Stop(testContext(t)))
	if s := d.ingest.Stats(); s.Limited != 48 || s.Refused != 49 || s.Records != 2 {
		t.Errorf("stats %+v, want 2 taken, 48 limited", s)
	}
	if r := d.runtime.Refusals(); r.ByReason[ReasonRateLimited] != 48 || r.Reported != 2 {
		t.Errorf("refusals %+v, want 48 limited, one report of them", r)
	}
}

func TestAnnouncementsHaveALimitOfTheirOwn(t *testing.T) {
	const sent = 1000 // a hundred seconds' worth
	d := openDoor(t)
	for range sent {
		must(t, d.client.nc.Publish("ringmaster.v1.worker.gpu0", workerRecord()))
	}
	d.publish(t, "a", queueRecord(1, ""))
	for receive(t, d.sink.calls).kind != telemetry.KindQueue {
	}
	flush(t, d.client)
	must(t, d.ingest.Stop(testContext(t)))
	if s := d.ingest.Stats(); s.Limited == 0 || s.Limited+s.Records != sent+1 {
		t.Errorf("stats %+v, want a record and some announcements taken, the others limited", s)
	}
}
