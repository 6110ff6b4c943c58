package natsio

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/telemetry"
)

// newLife is what a process that has just begun takes batches with.
func newLife(conn *Conn, cfg WorkConfig, handler WorkHandler) *WorkConsumer {
	return &WorkConsumer{
		conn: conn, cfg: cfg, handler: handler, idle: make(chan struct{}), pending: make(map[uint64]*batch), room: newRoom(cfg.MaxBytes),
	}
}

// One batch ends whatever takes it, and with that each time gives all those back that have no outcome, itself the oldest.
func TestNeighboursOfABatchThatEndsItsWorkerAreDone(t *testing.T) {
	conn := unconnected(t)
	synctest.Test(t, func(t *testing.T) {
		const culprit, batches = "b1", 9
		cfg := DefaultWorkConfig()
		cfg.MaxDeliveries = 40 // of which 29 are apart: 8 neighbours are all done but once in 2^26 times
		var mu sync.Mutex
		done, givenUp := make(map[string]int), make(map[string]bool)
		cfg.GaveUp = func(_, _ string, d *telemetry.Done, _ func(error)) { givenUp[d.Batch] = true }
		for delivered := uint64(1); len(givenUp) == 0; delivered++ {
			ended := false
			r, w := newReading(1), newLife(conn, cfg, func(_, _ string, work *telemetry.Work, _ int64, settled func(telemetry.Outcome, error)) {
				mu.Lock()
				defer mu.Unlock()
				if ended = ended || work.Batch == culprit; !ended {
					done[work.Batch]++
					settled(telemetry.OutcomeDone, nil)
				}
			})
			for i := range uint64(batches) {
				id := fmt.Sprint("b", i+1)
				if mu.Lock(); done[id] > 0 {
					mu.Unlock()
					continue
				}
				mu.Unlock()
				w.deliver(r, &heldMessage{subject: "ringmaster.v1.work.gpu0.a", payload: payloadOf(id, 3), metadata: deliveredAs(i+1, delivered)})
			}
			time.Sleep(cfg.RetryMax)
			synctest.Wait()
			if delivered == 1+cfg.MaxDeliveries/4 && len(done) > 0 {
				t.Errorf("%v were done before the oldest one ended the process", done)
			}
		}
		if len(givenUp) != 1 || !givenUp[culprit] || len(done) != batches-1 {
			t.Errorf("given up %v, done %v", givenUp, done)
		}
	})
}

// A suspect waits, is no batch that its queue has no room for, and goes back when the process ends.
func TestASuspectThatWaitsGoesBack(t *testing.T) {
	conn := unconnected(t)
	synctest.Test(t, func(t *testing.T) {
		var handed []string
		w := newLife(conn, DefaultWorkConfig(), func(_, _ string, work *telemetry.Work, _ int64, _ func(telemetry.Outcome, error)) {
			handed = append(handed, work.Batch)
		})
		r := newReading(1)
		take := func(sequence, delivered uint64) *heldMessage {
			m := &heldMessage{subject: "ringmaster.v1.work.gpu0.a", payload: payloadOf(fmt.Sprint("b", sequence), 3), metadata: deliveredAs(sequence, delivered)}
			w.deliver(r, m)
			return m
		}
		often := w.cfg.MaxDeliveries/4 + 1
		suspect := take(1, often+1)
		take(2, often)
		if list := w.InHand(); len(list) != 2 || list[0].Held || list[1].Held {
			t.Errorf("in hand: %+v", list)
		}
		w.releaseHeld()
		w.giveBack(context.Background())
		take(3, often+1) // which was being read when the end began: given back as any other
		time.Sleep(w.cfg.RetryMax)
		synctest.Wait()
		if fmt.Sprint(handed) != "[b2]" || fmt.Sprint(suspect.answers) != "[nak]" || len(w.returned) != 1 {
			t.Errorf("handed over %v, answered %v, %d to give back", handed, suspect.answers, len(w.returned))
		}
	})
}
