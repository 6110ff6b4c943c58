package natsio

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"ringmaster/telemetry"
)

// placedApart is a queue of gpu0 whose reports are counted apart from those of others.
func placedApart(r *reports, others ...string) string {
	for i := 0; ; i++ {
		q := fmt.Sprint("calm", i)
		if !slices.ContainsFunc(others, func(o string) bool { return r.place("gpu0", q) == r.place("gpu0", o) }) {
			return q
		}
	}
}

func TestRefusalsOfAQueueAreReportedBesideAFloodOfAnother(t *testing.T) {
	d := openDoor(t)
	victim := placedApart(&d.runtime.reject.mistakes, "loud")
	end := placedApart(&d.runtime.reject.mistakes, "loud", victim)
	for i := range 20 {
		for range 100 {
			d.publish(t, "loud", []byte("bad"))
		}
		for name := range 1000 {
			d.publish(t, fmt.Sprintf("invented%d", i*1000+name), []byte("bad"))
		}
		d.publish(t, victim, []byte("bad"))
	}
	d.publish(t, end, []byte("bad"))
	told := make(map[string]int)
	for told["ringmaster.v1.telemetry.gpu0."+end] == 0 {
		told[receive(t, d.rejected).Subject]++
	}
	if n := told["ringmaster.v1.telemetry.gpu0."+victim]; n != 20 {
		t.Errorf("%d of 20 refusals of the calm queue were reported", n)
	}
	if n := told["ringmaster.v1.telemetry.gpu0.loud"]; n == 0 || n == 2000 {
		t.Errorf("%d of 2000 refusals of the loud queue were reported, want some", n)
	}
}

func TestRefusalsAboveTheRateAreCountedAndOthersStillHeard(t *testing.T) {
	d := openDoor(t)
	d.runtime.reject.mistakes = newReports(0, 2)
	for range 10 {
		d.publish(t, "a", []byte("bad"))
	}
	d.publish(t, "a", queueRecord(1, ""))
	receive(t, d.sink.calls) // the ten before it have been refused
	if n := len(d.rejected); n > 2 {
		t.Fatalf("%d reports, want 2 at most", n)
	}
	if r := d.runtime.Refusals(); r.Reported != 2 || r.Suppressed != 8 || r.ByReason[telemetry.ReasonMalformed] != 10 {
		t.Errorf("refusals %+v, want 2 reported, 8 suppressed, 10 counted", r)
	}
	// When the bucket has filled up again, the next report tells what was left out.
	d.runtime.reject.mu.Lock()
	d.runtime.reject.mistakes.of("gpu0", "a").limiter.SetLimit(rate.Inf)
	d.runtime.reject.mu.Unlock()
	d.publish(t, "a", []byte("bad"))
	for range 2 {
		receive(t, d.rejected)
	}
	if r := receive(t, d.rejected); r.Suppressed != 8 {
		t.Errorf("next report says %d suppressed, want 8", r.Suppressed)
	}
}

// A flood of workers above their rates has buckets of its own for as long as somebody may want to know how many
// refusals were left out, and no longer.
func TestABucketThatOwesAReportIsForgottenAtLast(t *testing.T) {
	limited, now := newLimitedReports(limitedRate, limitedBurst), time.Unix(1000, 0)
	for i := range maxBuckets {
		b := limited.of(fmt.Sprint("flood", i), now)
		b.limiter.AllowN(now, 1)
		b.suppressed++
	}
	for _, after := range []time.Duration{time.Minute, oweFor + time.Minute} {
		own := after > oweFor
		limited.swept = time.Time{}
		limited.of("calm", now.Add(after))
		if _, has := limited.byWorker["calm"]; has != own {
			t.Errorf("after %v: a bucket of its own %v", after, has)
		}
	}
}
