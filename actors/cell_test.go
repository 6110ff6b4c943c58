package actors

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ringmaster/actors/order"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

func queueRecord(incarnation, seq uint64, queueLen uint32) *telemetry.Record {
	return &telemetry.Record{
		Header: telemetry.Header{Kind: telemetry.KindQueue, Incarnation: incarnation, Seq: seq, SentNs: int64(seq)},
		Queue:  telemetry.Queue{Has: telemetry.HasQueueLen | telemetry.HasRequeueCount, QueueLen: queueLen, RequeueCount: seq},
	}
}

func graphRecord(incarnation, seq uint64, nodes uint32) *telemetry.Record {
	return &telemetry.Record{
		Header: telemetry.Header{Kind: telemetry.KindGraph, Incarnation: incarnation, Seq: seq},
		Graph:  telemetry.Graph{Has: telemetry.HasNodeCount, NodeCount: nodes},
	}
}

func mustFold(t *testing.T, c *cell, r *telemetry.Record) wakes {
	t.Helper()
	w, err := c.fold(r, "", 0, time.Now())
	if err != nil {
		t.Fatalf("fold %v %d/%d: %v", r.Kind, r.Incarnation, r.Seq, err)
	}
	return w
}

func TestCellAsksForOneWakeUntilItsDecisionIsPublished(t *testing.T) {
	c := new(cell)
	if w := mustFold(t, c, queueRecord(7, 1, 10)); w != wakeDecision {
		t.Fatalf("first record: wakes %b", w)
	}
	if w := mustFold(t, c, queueRecord(7, 2, 20)); w != 0 {
		t.Fatalf("second record before the take: wakes %b", w)
	}
	if v := taken(t, c); v.queue.QueueLen != 20 || v.records != (SequenceRange{Incarnation: 7, First: 1, Last: 2, SentNs: 2}) {
		t.Fatalf("view %+v", v)
	}
	if w := mustFold(t, c, queueRecord(7, 3, 30)); w != 0 {
		t.Fatalf("record during the decision: wakes %b", w)
	}
	if c.decided(&view{}) != dueNow {
		t.Fatal("the record that came during the decision is not looked at")
	}
	if v := taken(t, c); v.queue.QueueLen != 30 {
		t.Fatalf("view %+v", v)
	}
	if c.decided(&view{}) != dueOnRecord {
		t.Fatal("asks for a decision on nothing new")
	}
	if folded := c.totals().Folded; folded != 1 {
		t.Fatalf("folded %d records, want 1", folded)
	}
}

func TestCellGivesTheViewOfALostDecisionAgain(t *testing.T) {
	c := new(cell)
	if _, err := c.fold(queueRecord(7, 5, 10), "inbox.1", 0, time.Now()); err != nil {
		t.Fatal(err)
	}
	first := taken(t, c)
	if c.lostWakes()&wakeDecision != 0 {
		t.Fatal("a decision in hand is asked for again")
	}
	c.abandon()
	if c.lostWakes()&wakeDecision == 0 {
		t.Fatal("the lost decision is not asked for again")
	}
	again := taken(t, c)
	if again.requeues != first.requeues || again.records != first.records || !slices.Equal(again.replies, []string{"inbox.1"}) {
		t.Fatalf("first %+v, again %+v", first, again)
	}
	if c.take() != nil {
		t.Fatal("a second wake decides on nothing new")
	}
	c.decided(&again)
	if c.lostWakes()&wakeDecision != 0 {
		t.Fatal("a decision is asked for although none is lost")
	}
}

func TestCellAnswersOnce(t *testing.T) {
	c := new(cell)
	ask := func(seq uint64, reply string) {
		if _, err := c.fold(queueRecord(7, seq, 10), reply, 0, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"inbox.1", "inbox.2", "inbox.3"} {
		if i == 0 {
			ask(1, want)
		}
		v := taken(t, c)
		if !slices.Equal(v.replies, []string{want}) {
			t.Errorf("answers %v, want %v", v.replies, want)
		}
		ask(uint64(i+2), fmt.Sprint("inbox.", i+2)) // while the decision is in hand
		c.decided(&v)
	}
}

// taken is the view of a decision that was asked for.
func taken(t *testing.T, c *cell) view {
	t.Helper()
	v := c.take()
	if v == nil {
		t.Fatal("no decision was asked for")
	}
	return *v
}

func TestCellCountsRequeuesOncePerDecision(t *testing.T) {
	c := new(cell)
	mustFold(t, c, queueRecord(7, 3, 1))
	if v := taken(t, c); v.requeues != 3 {
		t.Fatalf("first decision sees %d requeues, want 3", v.requeues)
	}
	mustFold(t, c, queueRecord(7, 9, 1))
	c.reportLocal(&telemetry.Launch{Requeued: 10}, &session.Plan{}, time.Now())
	c.decided(&view{})
	if v := taken(t, c); v.requeues != 16 {
		t.Fatalf("second decision sees %d requeues, want 6 reported and 10 of a launch", v.requeues)
	}
}

func TestCellSaturatesCounters(t *testing.T) {
	c := new(cell)
	r := queueRecord(7, 1, 1)
	r.Queue.RequeueCount = 1<<64 - 1
	mustFold(t, c, r)
	mustFold(t, c, queueRecord(8, 1, 1)) // a new incarnation adds one more
	if v := taken(t, c); v.requeues != 1<<64-1 {
		t.Fatalf("requeues %d, want the largest number", v.requeues)
	}
}

func TestCellRefusesWhatIsNotNewer(t *testing.T) {
	for _, test := range []struct {
		name   string
		record *telemetry.Record
		want   error
	}{
		{"duplicate", queueRecord(8, 5, 1), order.ErrStale},
		{"older", queueRecord(8, 4, 1), order.ErrStale},
		{"another publisher", queueRecord(7, 100, 1), order.ErrLive},
		{"rewound counter", func() *telemetry.Record {
			r := queueRecord(8, 6, 1)
			r.Queue.RequeueCount = 4
			return r
		}(), ErrRewind},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := new(cell)
			mustFold(t, c, queueRecord(8, 4, 70))
			mustFold(t, c, queueRecord(8, 5, 80))
			c.take()
			if _, err := c.fold(test.record, "inbox.1", 0, time.Now()); !errors.Is(err, test.want) {
				t.Fatalf("error %v, want %v", err, test.want)
			}
			if c.decided(&view{}) != dueOnRecord {
				t.Fatal("a refused record asks for a decision")
			}
			c.requestDecision()
			if v := taken(t, c); v.queue.QueueLen != 80 || len(v.replies) != 0 {
				t.Fatalf("a refused record left traces: %+v", v)
			}
		})
	}
}

func TestCellForgetsWhatAReplacedPublisherSaid(t *testing.T) {
	c := new(cell)
	mustFold(t, c, graphRecord(7, 1, 100))
	mustFold(t, c, queueRecord(7, 2, 10))
	r := queueRecord(8, 1, 0)
	r.Queue = telemetry.Queue{Has: telemetry.HasHotOpcodeCount, HotOpcodeCount: 3}
	mustFold(t, c, r)
	if v := taken(t, c); v.queue.Has != telemetry.HasHotOpcodeCount || v.graph.Has != 0 {
		t.Fatalf("kept %b of the queue and %b of the graph", v.queue.Has, v.graph.Has)
	}
}

func TestCellKeepsTheGraphOfAnotherPublisher(t *testing.T) {
	c := new(cell)
	mustFold(t, c, graphRecord(9, 1, 100))
	mustFold(t, c, queueRecord(7, 1, 10))
	mustFold(t, c, queueRecord(8, 1, 10))
	if v := taken(t, c); v.graph.NodeCount != 100 {
		t.Fatal("the graph of a publisher that was not replaced is gone")
	}
}

func TestCellBoundsWhatWaits(t *testing.T) {
	c := new(cell)
	for seq := range uint64(100) {
		if _, err := c.fold(queueRecord(7, seq+1, 1), fmt.Sprint("inbox.", seq), 0, time.Now()); err != nil {
			t.Fatal(err)
		}
		r := &telemetry.Record{
			Header: telemetry.Header{Kind: telemetry.KindLaunch, Incarnation: 7, Seq: seq + 1},
			Launch: telemetry.Launch{Launch: seq, Decision: seq + 1, ElapsedNs: 10, Executed: 5, Applied: telemetry.Geometry{WorkgroupSizeX: uint32(seq + 1)}},
		}
		mustFold(t, c, r)
	}
	v := taken(t, c)
	if len(v.replies) != maxReplies || v.replies[0] != "inbox.0" {
		t.Errorf("replies %v", v.replies)
	}
	if timings := c.takeTimings(nil); len(timings) != maxTimings {
		t.Errorf("%d timings", len(timings))
	}
	outcomes := c.takeOutcomes(nil)
	if len(outcomes) != maxOutcomes || outcomes[maxOutcomes-1].Decision != 100 {
		t.Errorf("%d outcomes, the last %+v", len(outcomes), outcomes[len(outcomes)-1])
	}
}

func TestCellKeepsTimingsOfLaunchesThatRan(t *testing.T) {
	c := new(cell)
	for _, l := range []telemetry.Launch{
		{Executed: 10, ElapsedNs: 100, Applied: telemetry.Geometry{WorkgroupSizeX: 64}},
		{Executed: 20, Faulted: 1, ElapsedNs: 200, Applied: telemetry.Geometry{WorkgroupSizeX: 64}},
		{Executed: 5, ElapsedNs: 50, Applied: telemetry.Geometry{WorkgroupSizeX: 128}},
		{Status: telemetry.LaunchFailed, Executed: 5, ElapsedNs: 50, Applied: telemetry.Geometry{WorkgroupSizeX: 256}},
		{Executed: 5, Applied: telemetry.Geometry{WorkgroupSizeX: 512}},                                             // not measured
		{Executed: 5, ElapsedNs: 9, Applied: telemetry.Geometry{WorkgroupSizeX: 512}, Has: telemetry.HasTimeSource}, // nor this
		{Executed: 5, ElapsedNs: 9, Applied: telemetry.Geometry{WorkgroupSizeX: 512}, Mode: telemetry.ModeLease},
		{ElapsedNs: 9, Applied: telemetry.Geometry{WorkgroupSizeX: 512}},                             // ran nothing
		{Executed: 5, Applied: telemetry.Geometry{WorkgroupSizeX: 512}, Has: telemetry.HasElapsedNs}, // its clock read 0: for the tuner to refuse
	} {
		c.reportLocal(&l, &session.Plan{}, time.Now())
	}
	got := c.takeTimings(nil)
	want := [][2]uint64{{10, 100}, {21, 200}, {5, 50}, {5, 0}}
	for i := range got {
		if i >= len(want) || got[i].Slots != want[i][0] || got[i].Ns != want[i][1] {
			t.Fatalf("timings %+v, want slots and times %v", got, want)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d timings, want %d", len(got), len(want))
	}
	for i := range uint64(maxTimings + 2) {
		c.reportLocal(&telemetry.Launch{Executed: 1 + i, ElapsedNs: 10, Applied: telemetry.Geometry{WorkgroupSizeX: 64}}, &session.Plan{}, time.Now())
	}
	if got := c.takeTimings(nil); len(got) != maxTimings || got[0].Slots != 3 || got[maxTimings-1].Slots != maxTimings+2 {
		t.Fatalf("%d timings, the first %+v", len(got), got[0])
	}
}

// Several publishers fold while one actor takes. Whatever the interleaving, no
// second wake is asked for, the newest values arrive, every requeue is seen by
// exactly one decision, and every record is either decided on or counted as folded.
func TestCellUnderConcurrentPublishersLosesNothing(t *testing.T) {
	const publishers, records = 4, 2000
	var (
		c        = new(cell)
		seq      [2]atomic.Uint64
		accepted atomic.Uint64
		wakeUps  = make(chan struct{}, 1)
		wg       sync.WaitGroup
	)
	wake := func() {
		select {
		case wakeUps <- struct{}{}:
		default:
			t.Error("a second wake is pending")
		}
	}
	mustFold(t, c, queueRecord(7, seq[0].Add(1), 1))
	accepted.Add(1)
	wake()

	finished := make(chan struct{})
	var last view
	var decisions, requeues uint64
	taker := make(chan struct{})
	go func() {
		defer close(taker)
		decide := func() {
			for next := dueNow; next != dueOnRecord; next = c.decided(&view{}) {
				if next == dueLater && c.paceOver() == 0 {
					break
				}
				last = view{}
				if v := c.take(); v != nil {
					last = *v
				}
				requeues += last.requeues
				decisions++
			}
		}
		for {
			select {
			case <-wakeUps:
				decide()
			case <-finished:
				select {
				case <-wakeUps:
					decide()
				default:
				}
				return
			}
		}
	}()
	for p := range publishers {
		wg.Go(func() {
			for range records {
				kind := p % 2
				n := seq[kind].Add(1)
				r := queueRecord(7, n, uint32(n))
				if kind == 1 {
					r = graphRecord(7, n, uint32(n))
				}
				w, err := c.fold(r, "", 0, time.Now())
				if err != nil {
					continue // a later record of the same publisher was faster
				}
				accepted.Add(1)
				if w&wakeDecision != 0 {
					wake()
				}
			}
		})
	}
	wg.Wait()
	close(finished)
	<-taker

	folded := c.totals().Folded
	if want := uint32(seq[0].Load()); last.queue.QueueLen != want || requeues != uint64(want) {
		t.Errorf("last decision saw length %d and all saw %d requeues, want %d", last.queue.QueueLen, requeues, want)
	}
	if want := uint32(seq[1].Load()); last.graph.NodeCount != want {
		t.Errorf("last decision saw %d nodes, want %d", last.graph.NodeCount, want)
	}
	if decisions+folded != accepted.Load() {
		t.Errorf("%d decisions and %d folded records, want %d together", decisions, folded, accepted.Load())
	}
}
