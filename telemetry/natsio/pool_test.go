package natsio

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ringmaster/telemetry"
)

func TestAWorkerAsksForWhatItGetsToSoon(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name              string
		most, ahead, each time.Duration
		inHand, n         int
		again             time.Duration
	}{
		{"idle, batches of 2 ms", 20 * ms, 0, 2 * ms, 0, 10, 0},
		{"half busy", 20 * ms, 10 * ms, 2 * ms, 5, 5, 0},
		{"busy until in 30 ms", 20 * ms, 30 * ms, 2 * ms, 0, 0, 20 * ms},
		{"busy for long", 20 * ms, time.Minute, 2 * ms, 0, 0, 100 * ms},
		{"one batch is longer than all it may have", 20 * ms, 0, time.Second, 0, 1, 0},
		{"tiny batches", 20 * ms, 0, time.Microsecond, 0, mostFetched, 0},
		{"never measured", 20 * ms, 0, 0, 0, 1, 0},
		{"never measured, one in hand", 20 * ms, 0, 0, 1, 0, ms},
	} {
		if n, again := appetite(c.most, c.ahead, c.each, c.inHand); n != c.n || again != c.again {
			t.Errorf("%s: %d batches, again in %v; want %d, %v", c.name, n, again, c.n, c.again)
		}
	}
	if a, b, c := priority(20*ms, 0), priority(20*ms, 10*ms), priority(20*ms, time.Hour); a != 0 || b != 4 || c != 9 {
		t.Errorf("priorities %d, %d, %d", a, b, c)
	}
}

// member is a worker that takes work of pool gpus, 2 ms a batch, and is busy for as long as it says.
type member struct {
	shop
	ahead atomic.Int64
}

func openMember(t *testing.T, url string, ahead time.Duration) *member {
	t.Helper()
	m := &member{shop: shop{conn: dial(t, fastConfig(url)), client: dial(t, fastConfig(url)), batches: make(chan delivery, 4096)}}
	m.ahead.Store(int64(ahead))
	cfg := DefaultWorkConfig()
	cfg.AckWait = time.Second
	cfg.Share = &Share{
		Ahead:  func() time.Duration { return time.Duration(m.ahead.Load()) },
		Expect: func(string, int) time.Duration { return 2 * time.Millisecond },
		Most:   20 * time.Millisecond,
	}
	var err error
	m.consumer, err = m.conn.ConsumeWork(context.Background(), telemetry.Pool("gpus"), cfg,
		func(sentTo, queue string, w *telemetry.Work, sentNs int64, settled func(telemetry.Outcome, error)) {
			m.batches <- delivery{sentTo, queue, w, sentNs, settled}
		})
	must(t, err)
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		m.consumer.Drain(ended) // one that is gone never has an outcome
		<-m.consumer.stopped
	})
	receive(t, readiness(m.consumer.Ready()))
	return m
}

func (m *member) submitToPool(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		if _, err := storeWorkFor(t, m.client, telemetry.Pool("gpus"), "a", batchOf(fmt.Sprintf("b%d", i), 3)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAPoolsBatchesGoToThoseWhoHaveLittleToDo(t *testing.T) {
	url := newServer(t).URL()
	busy, idle := openMember(t, url, time.Hour), openMember(t, url, 0)
	idle.submitToPool(t, 30)
	var in []delivery
	for range 10 { // 20 ms of work
		in = append(in, receive(t, idle.batches))
	}
	busy.ahead.Store(0)
	for range 10 {
		in = append(in, receive(t, busy.batches))
	}
	if a, b := len(idle.batches), len(busy.batches); a != 0 || b != 0 {
		t.Errorf("%d and %d more batches than 20 ms of work", a, b)
	}
	idle.wantStored(t, 30)
	seen := map[string]int{}
	for done := 0; done < 30; done++ {
		if len(in) == 0 {
			select {
			case d := <-idle.batches:
				in = append(in, d)
			case d := <-busy.batches:
				in = append(in, d)
			case <-testContext(t).Done():
				t.Fatalf("only %d batches came", done)
			}
		}
		if in[0].worker != "pool.gpus" || in[0].queue != "a" {
			t.Errorf("a batch of %s.%s", in[0].worker, in[0].queue)
		}
		seen[in[0].work.Batch]++
		in[0].settled(telemetry.OutcomeDone, nil)
		in = in[1:]
	}
	if len(seen) != 30 {
		t.Errorf("%d of 30 batches", len(seen))
	}
	idle.drained(t)
	busy.drained(t)
	idle.wantStored(t, 0)
}

// What a worker had in hand that is gone comes to another, and to itself nothing comes twice.
func TestAPoolsBatchesOfAWorkerThatIsGoneComeToAnother(t *testing.T) {
	url := newServer(t).URL()
	gone, stays := openMember(t, url, 0), openMember(t, url, time.Hour)
	stays.submitToPool(t, 5)
	lost := map[string]bool{}
	for range 5 {
		lost[receive(t, gone.batches).work.Batch] = true
	}
	gone.conn.nc.Close()
	stays.ahead.Store(0)
	for range 5 {
		d := receive(t, stays.batches)
		if !lost[d.work.Batch] {
			t.Errorf("batch %s came twice", d.work.Batch)
		}
		delete(lost, d.work.Batch)
		d.settled(telemetry.OutcomeDone, nil)
	}
	stays.drained(t)
	stays.wantStored(t, 0)
}

func TestAPoolsBatchThatNeedsDataIsRefused(t *testing.T) {
	m := openMember(t, newServer(t).URL(), 0)
	refusals := make(chan telemetry.Rejected, 1)
	sub, err := m.client.SubscribeRejected(telemetry.Pool("gpus"), "a", func(_, _ string, _ *telemetry.Header, r *telemetry.Rejected) { refusals <- *r })
	must(t, err)
	defer sub.Stop(testContext(t))
	flush(t, m.client)
	w := batchOf("b", 3)
	w.Epoch, w.Has = 7, w.Has|telemetry.HasEpoch
	if _, err := storeWorkFor(t, m.client, telemetry.Pool("gpus"), "a", w); err != nil {
		t.Fatal(err)
	}
	if r := receive(t, refusals); r.Reason != telemetry.ReasonInconsistent || !strings.Contains(r.Detail, "window") {
		t.Errorf("%+v", r)
	}
	m.wantStored(t, 0)
}
