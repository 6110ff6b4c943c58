package fleetview

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"ringmaster/telemetry"
)

// began is when views of these tests begin to hear.
var began = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)

// after is a moment so many seconds later.
func after(seconds float64) time.Time { return began.Add(time.Duration(seconds * 1e9)) }

func advice(decision uint64, length uint32) *telemetry.Recommendation {
	return &telemetry.Recommendation{
		Decision: decision, ValidForMs: 3000, QueueLen: length, Topology: "none", ExecutionMode: "interpreter", LaunchMode: "wave", WorkgroupSizeX: 256, Groups: 12,
		Reasons: []telemetry.Reason{{Rule: "mode_queue_len", Value: uint64(length), Threshold: 4096}},
	}
}

var by = &telemetry.Header{Incarnation: 7}

func only(t *testing.T, v *View, at time.Time) Queue {
	t.Helper()
	s := v.Look(at)
	if len(s.Queues) != 1 {
		t.Fatalf("%d queues: %+v", len(s.Queues), s.Queues)
	}
	return s.Queues[0]
}

func TestAQueueIsWrongInTheWorstWayThatHolds(t *testing.T) {
	v := New(began, Limits{})
	wants := func(at time.Time, want State, words string) {
		t.Helper()
		if q := only(t, v, at); q.State != want || !strings.Contains(q.Why, words) {
			t.Errorf("at %v: %v: %s; want %v: … %s", at.Sub(began), q.State, q.Why, want, words)
		}
	}
	record := &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindQueue, Incarnation: 1}, Queue: telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: 5}}
	v.Telemetry(after(1), "w", "q", record)
	wants(after(1), OK, "no recommendation heard yet")
	v.Telemetry(after(4), "w", "q", record)
	wants(after(4), Undecided, "nobody decides")
	v.Recommendation(after(5), "w", "q", by, advice(1, 300))
	wants(after(5), OK, "interpreter: 300 slots, compiled from 4,096 on")
	launch := &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindLaunch}, Launch: telemetry.Launch{Executed: 10}}
	v.Telemetry(after(5), "w", "q", launch)
	v.Recommendation(after(7), "w", "q", by, advice(1, 300))
	v.Recommendation(after(9.9), "w", "q", by, advice(1, 300))
	wants(after(10), Waiting, "290 slots waiting, none executed for 5 s")
	v.Rejected(after(10), "w", "q", &telemetry.Rejected{Reason: "rate_limited", Suppressed: 2})
	wants(after(10), Waiting, "")
	v.Telemetry(after(10), "w", "q", launch)
	wants(after(10), Refused, "rate_limited")
	launch.Launch.Status, launch.Launch.Error = telemetry.LaunchFailed, "lost"
	v.Telemetry(after(11), "w", "q", launch)
	wants(after(11), Failing, "a launch failed 0.0 s ago: lost")
	no := advice(2, 300)
	no.Error = "nobody announced worker w"
	v.Recommendation(after(12), "w", "q", by, no)
	wants(after(12), Planless, "nobody announced worker w")
	wants(after(15), Lapsed, "nobody has decided for 3 s")
	if q := only(t, v, after(15)); q.Refusals != 3 {
		t.Errorf("%d refusals, want one and two that were left out", q.Refusals)
	}
	v.Recommendation(after(200), "w", "q", by, advice(3, 0))
	wants(after(200), OK, "")
	if s := v.Look(after(200)); len(s.Events) < 6 || !strings.HasPrefix(s.Events[len(s.Events)-1].Text, "is right again, was: EXPIRED") {
		t.Errorf("events %+v", s.Events)
	}
}

// A publisher that is silent may be gone: the queue that it said to be empty is not known to be, whoever listened then.
func TestASilentPublishersEmptyQueueIsSaidSo(t *testing.T) {
	empty := &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindQueue, Incarnation: 0xabc}, Queue: telemetry.Queue{Has: telemetry.HasQueueLen}}
	const silent = "publisher 0000000000000abc silent for 20 s, its last record said the queue is empty"
	v := New(began, Limits{})
	v.Telemetry(after(1), "w", "q", empty)
	v.Recommendation(after(20.5), "w", "q", by, advice(1, 0))
	if q := only(t, v, after(10)); strings.Contains(q.Why, "silent") {
		t.Error(q.Why)
	}
	if q := only(t, v, after(21)); q.State != OK || q.Why != silent {
		t.Errorf("%v: %s", q.State, q.Why)
	}
	late := New(after(20), Limits{})
	r := advice(1, 0)
	r.AnsweredIncarnation, r.AnsweredSeq, r.AnsweredSentNs = 0xabc, 4, after(1).UnixNano()
	late.Recommendation(after(20.5), "w", "q", by, r)
	if q := only(t, late, after(21)); q.Why != silent {
		t.Error(q.Why)
	}
	empty.Queue.QueueLen = 5 // and launches have executed them since
	v.Telemetry(after(21), "w", "q", empty)
	v.Recommendation(after(50), "w", "q", by, advice(2, 0))
	if q := only(t, v, after(50.5)); strings.Contains(q.Why, "silent") {
		t.Error(q.Why)
	}
}

// A worker decides when work comes, and not again when it is done.
func TestWhatALaunchHasExecutedWaitsNoMore(t *testing.T) {
	v := New(began, Limits{})
	v.Recommendation(after(1), "w", "q", by, advice(1, 300))
	v.Telemetry(after(1), "w", "q", &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindLaunch}, Launch: telemetry.Launch{Executed: 300}})
	long := advice(1, 300)
	long.ValidForMs = 60_000
	v.Recommendation(after(2), "w", "q", by, long)
	if q := only(t, v, after(20)); q.State != OK || q.Length != 0 {
		t.Errorf("%v: %s, %d slots", q.State, q.Why, q.Length)
	}
}

func TestRatesAreOfWholeSecondsAndUnknownBefore(t *testing.T) {
	v := New(began, Limits{})
	for i := range 100 { // ten a second
		at := after(float64(i) / 10)
		v.Recommendation(at, "w", "q", by, advice(uint64(i+1), 300))
		if i == 5 {
			if q := only(t, v, at); q.Decides.Known {
				t.Errorf("%v decisions a second, before one is over", q.Decides.Value)
			}
		}
	}
	if q := only(t, v, after(10)); q.Decides != known(10) || q.Slots.Known || q.Records != known(0) {
		t.Errorf("decisions %v, slots %v, records %v", q.Decides, q.Slots, q.Records)
	}
	if q := only(t, v, after(500)); q.Decides != known(0) {
		t.Errorf("decisions %v, long after the last", q.Decides)
	}
	if text, err := json.Marshal(only(t, v, after(500))); err != nil || !strings.Contains(string(text), `"slots_per_second":null`) || !strings.Contains(string(text), `"decision":"100"`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestQuantilesAreWithinTheirBuckets(t *testing.T) {
	var s spread
	for i := 1; i <= 1000; i++ {
		s.add(began, time.Duration(i)*time.Millisecond)
	}
	got := s.quantiles(began, 500, 990)
	for i, want := range []float64{.5, .99} {
		if !got[i].Known || math.Abs(got[i].Value/want-1) > .065 {
			t.Errorf("quantile %v of 1 to 1000 ms is %v s", want, got[i])
		}
	}
	if got := s.quantiles(began.Add(2*spreadHalf), 500); got[0].Known {
		t.Errorf("%v s of what is a minute old", got[0].Value)
	}
	for d := time.Duration(1); d < 2*time.Hour; d = d*5/4 + 1 {
		if b := bucketOf(d); b < buckets-1 && d > time.Millisecond && math.Abs(middleOf(b).Seconds()/d.Seconds()-1) > .065 {
			t.Errorf("%v is shown as %v", d, middleOf(b))
		}
	}
}

func TestTheBandTellsTenMinutes(t *testing.T) {
	v := New(began, Limits{})
	v.Recommendation(began, "w", "q", by, advice(1, 300))
	compiled := advice(2, 5000)
	compiled.ExecutionMode, compiled.ValidForMs = "jit", 25_000
	v.Recommendation(after(2), "w", "q", by, compiled)
	failed := advice(3, 5000)
	failed.Error = "no device"
	v.Recommendation(after(40), "w", "q", by, failed)
	if q := only(t, v, after(60)); q.Band[pastSteps-7:] != "jjjX!XX" {
		t.Errorf("band %q", q.Band)
	}
	d, ok := v.Detail(after(60), "w", "q")
	if !ok || len(d.Changes) != 3 || d.Changes[1].Plan.Mode != "jit" || d.Modes[0].Label != "jit" || d.Modes[0].To.Sub(d.Modes[0].From) != 30*time.Second {
		t.Errorf("changes %+v, modes %+v", d.Changes, d.Modes)
	}
	if q := only(t, v, after(9*60)); !strings.HasSuffix(q.Band, strings.Repeat("X", 49)) {
		t.Errorf("band %q of a queue for which nobody has decided for long", q.Band)
	}
}

// Whoever may publish can make names up.
func TestMadeUpNamesTakeBoundedMemory(t *testing.T) {
	v := New(began, Limits{Queues: 10, Workers: 5, Events: 20, Uncapped: 100})
	for i := range 1000 {
		name := fmt.Sprint("q", i)
		v.Recommendation(after(1), name, name, by, advice(1, 1))
		v.Worker(after(1), name, &telemetry.Worker{Renderer: "a\x1b[2J"})
		v.Rejected(after(1), "w", name, &telemetry.Rejected{Reason: name})
		v.Runtime(after(1), RuntimeSaid{ID: name})
	}
	for i := range 100 {
		v.Rejected(after(1), "q0", "q0", &telemetry.Rejected{Reason: fmt.Sprint("r", i)})
	}
	s := v.Look(after(1))
	if len(s.Queues) != 10 || len(s.Workers) != 5 || len(s.Runtimes) != 5 || s.Beyond != 100 || strings.Contains(s.Workers[0].Device, "\x1b") {
		t.Errorf("%d queues, %d workers, %d runtimes, %d beyond", len(s.Queues), len(s.Workers), len(s.Runtimes), s.Beyond)
	}
	if d, _ := v.Detail(after(1), "q0", "q0"); len(d.RefusedBy) > maxReasons+1 {
		t.Errorf("%d reasons", len(d.RefusedBy))
	}
	if s := v.Look(after(30)); len(s.Events) > 20 {
		t.Errorf("%d events", len(s.Events))
	}
	v.Recommendation(after(60), "new", "new", by, advice(1, 1))
	if _, ok := v.Detail(after(60), "new", "new"); !ok {
		t.Error("a new queue has no room, although the old ones are silent")
	}
}

func TestWorkersAndRuntimesFallSilent(t *testing.T) {
	v := New(began, Limits{})
	v.Worker(after(1), "w", &telemetry.Worker{Renderer: "llvmpipe"})
	v.Runtime(after(1), RuntimeSaid{ID: "a", Worker: "w", Status: RuntimeStatus{Records: 100}})
	v.Runtime(after(3), RuntimeSaid{ID: "a", Worker: "w", Status: RuntimeStatus{Records: 140}})
	s := v.Look(after(3))
	if s.Workers[0].State != OK || s.Runtimes[0].Records != known(20) {
		t.Errorf("%+v", s)
	}
	s = v.Look(after(20))
	if s.Workers[0].State != Silent || s.Runtimes[0].State != Silent {
		t.Errorf("%+v", s)
	}
	v.Runtime(after(21), RuntimeSaid{ID: "a", Status: RuntimeStatus{Records: 3}})
	if s := v.Look(after(21)); s.Runtimes[0].Records.Known {
		t.Errorf("%v records a second of a counter that began anew", s.Runtimes[0].Records.Value)
	}
}

func TestDistancesHaveAUnitAndADirection(t *testing.T) {
	for _, c := range []struct {
		reason telemetry.Reason
		want   string
	}{
		{telemetry.Reason{Rule: "mode_queue_len", Value: 5000, Threshold: 3584, Distance: 1417}, "1,417 slots less, at 3,583 slots"},
		{telemetry.Reason{Rule: "mode_cost", Value: 454_000, Threshold: 305_000, Distance: 149_000}, "149 µs less, at 305 µs"},
		{telemetry.Reason{Rule: "sparse_frontier", Value: 120, Threshold: 500, Distance: 380}, "3.8 % more, at 5 %"},
		{telemetry.Reason{Rule: "mode_cost", Value: 1, Threshold: 2_000, Held: true}, "past its edge of 2.00 µs already; held until it stays there"},
		{telemetry.Reason{Rule: "of a later version", Value: 3, Threshold: 1, Distance: 2}, "2 less, at 1"},
		{telemetry.Reason{Rule: "mode_fused"}, ""},
	} {
		if got := flips(&c.reason); got != c.want {
			t.Errorf("%+v: %q, want %q", c.reason, got, c.want)
		}
	}
}
