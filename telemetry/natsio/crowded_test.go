package natsio

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ringmaster/telemetry"
)

func TestAQueueThatGetsNothingDoneLeavesRoomForOthers(t *testing.T) {
	const most, crowd = 8, 30
	refused, told := make(chan telemetry.Done, crowd), make(chan string, crowd)
	s := openShop(t, newServer(t).URL(), func(c *WorkConfig) {
		c.MaxPending, c.RetryMin, c.RetryMax = most, time.Hour, time.Hour
		c.Crowded = func(worker, queue, batch string, why error) { told <- fmt.Sprint(worker, queue, batch, why) }
		c.GaveUp = func(_, queue string, d *telemetry.Done, sent func(error)) {
			if queue != "a" {
				t.Errorf("batch %s of queue %s is refused", d.Batch, queue)
			}
			refused <- *d
			sent(nil)
		}
	})
	over := errors.New("over its quota")
	for i := range crowd {
		s.submit(t, fmt.Sprint("b", i))
	}
	for i := range crowd {
		d := receive(t, s.batches)
		d.settled(telemetry.OutcomeQueueBusy, over)
		if i < most/2 {
			continue // held
		}
		if got := receive(t, refused); got.Batch != d.work.Batch || got.Dropped != 3 || got.WorkSentNs != 1234 || !strings.Contains(got.Error, over.Error()) {
			t.Fatalf("batch %s: done record %+v", d.work.Batch, got)
		}
		if got, want := receive(t, told), "gpu0a"+d.work.Batch+over.Error(); got != want {
			t.Fatalf("told of %s, want %s", got, want)
		}
	}
	if _, err := storeWork(t, s.client, "victim", batchOf("v", 1)); err != nil {
		t.Fatal(err)
	}
	d := receive(t, s.batches)
	if d.queue != "victim" {
		t.Fatalf("queue %s comes again", d.queue)
	}
	d.settled(telemetry.OutcomeDone, nil)
	s.wantStored(t, most/2)
	if got := s.consumer.Stats(); got.Crowded != crowd-most/2 || got.Refused != got.Crowded || got.Busy != most/2 || got.Pending != most/2 {
		t.Errorf("stats %+v", got)
	}
	if n := s.conn.Refusals().ByReason[ReasonCrowded]; n != crowd-most/2 {
		t.Errorf("%d refusals", n)
	}
}

func TestABatchThatWaitsKeepsItsPlaceInACrowd(t *testing.T) {
	s := openShop(t, newServer(t).URL(), func(c *WorkConfig) { c.MaxPending = 2 })
	s.submit(t, "first")
	for range 5 { // it waits, comes again, and is never too many
		receive(t, s.batches).settled(telemetry.OutcomeQueueBusy, errors.New("stopped"))
	}
	receive(t, s.batches).settled(telemetry.OutcomeDone, nil)
	s.wantStored(t, 0)
	if got := s.consumer.Stats(); got.Crowded != 0 || got.Done != 1 {
		t.Errorf("stats %+v", got)
	}
}

// A batch that takes longer than MaxExecution is delivered again; that it is still
// at work here then counts as a sign of life, so that its deliveries do not pile up.
func TestADeliveryOfWhatIsAtWorkRenewsIt(t *testing.T) {
	w := WorkConsumer{cfg: DefaultWorkConfig(), pending: make(map[uint64]*batch)}
	begin := time.Unix(1000, 0)
	later := begin.Add(w.cfg.MaxExecution)
	w.admit(&batch{sequence: 7, since: begin})
	if n := len(w.alive(later)); n != 0 {
		t.Errorf("%d signs of life after %v", n, w.cfg.MaxExecution)
	}
	if w.admit(&batch{sequence: 7, since: later, delivered: 2}) {
		t.Error("it is handed over twice")
	}
	if n := len(w.alive(later.Add(time.Second))); n != 1 || w.pending[7].delivered != 2 {
		t.Errorf("%d signs of life after the delivery", n)
	}
}
