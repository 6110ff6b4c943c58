package natsio

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"

	"ringmaster/telemetry"
)

// slotsToReadBeside make a batch that is not read where it arrives.
const slotsToReadBeside = 4000

func payloadOf(id string, slots int) []byte {
	return telemetry.Append(nil, telemetry.EncodingArray, telemetry.Header{Incarnation: 1, Seq: 1, SentNs: 1}, batchOf(id, slots))
}

// Large and small batches, one of them malformed, by turns: while the handler has the first, as
// many are read as may be at a time. Then all are handed over in their order.
func TestBatchesAreReadSeveralAtATimeAndHandedOverInOrder(t *testing.T) {
	conn := unconnected(t)
	synctest.Test(t, func(t *testing.T) {
		const n, bad = 40, 17
		busy := make(chan struct{})
		var got []string
		w := &WorkConsumer{conn: conn, cfg: DefaultWorkConfig(), pending: make(map[uint64]*batch), room: newRoom(DefaultWorkConfig().MaxBytes)}
		w.handler = func(_, _ string, work *telemetry.Work, _ int64, settled func(telemetry.Outcome, error)) {
			<-busy
			got = append(got, work.Batch)
			settled(telemetry.OutcomeDone, nil)
		}
		r := newReading(readProcessors)
		go func() {
			for i := range n {
				payload := payloadOf(fmt.Sprint(i), []int{slotsToReadBeside, 3}[i%2*(i/10%2)])
				if i == bad {
					payload = payload[:len(payload)-1]
				}
				w.deliver(r, &heldMessage{subject: "ringmaster.v1.work.gpu0.a", payload: payload, metadata: deliveredAs(uint64(i+1), 1)})
			}
			<-r.turn
		}()
		synctest.Wait()
		if pending := w.Stats().Pending; pending != readersAtOnce+1 {
			t.Errorf("%d batches are taken while the first is handed over, want %d and one that waits for a place", pending, readersAtOnce)
		}
		close(busy)
		synctest.Wait()
		next := 0
		for _, id := range got {
			if next == bad {
				next++
			}
			if id != fmt.Sprint(next) {
				t.Fatalf("batch %s came when it was the turn of %d", id, next)
			}
			next++
		}
		if s := w.Stats(); next != n || s.Pending != 0 || s.Bytes != 0 || s.Refused != 1 {
			t.Errorf("%d batches came, stats %+v", len(got), s)
		}
	})
}

// Whatever is being read when the consumer drains reaches the handler or goes back to the stream.
func TestDrainLosesNothingThatIsBeingRead(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(readProcessors))
	const n = 60
	s := openShop(t, newServer(t).URL(), nil)
	for i := range n {
		if _, err := storeWork(t, s.client, "a", batchOf(fmt.Sprint(i), slotsToReadBeside)); err != nil {
			t.Fatal(err)
		}
	}
	drained := make(chan error, 1)
	for i := range n {
		d := receive(t, s.batches)
		if d.work.Batch != fmt.Sprint(i) || len(d.work.Slots) != slotsToReadBeside {
			t.Fatalf("batch %s of %d slots came as number %d", d.work.Batch, len(d.work.Slots), i)
		}
		d.settled(telemetry.OutcomeDone, nil)
		if i == n/4 {
			break
		}
	}
	go func() { drained <- s.consumer.Drain(testContext(t)) }()
	<-s.consumer.stopped
	done := n/4 + 1
	for len(s.batches) > 0 {
		receive(t, s.batches).settled(telemetry.OutcomeDone, nil)
		done++
	}
	must(t, receive(t, drained))
	s.wantStored(t, uint64(n-done))
	if st := s.consumer.Stats(); st.Pending != 0 || st.Done != uint64(done) || st.Bytes != 0 {
		t.Errorf("%d done, stats %+v", done, st)
	}
}

// BenchmarkReading is the way of batches of 4,096 listed slots to the handler, in this order.
func BenchmarkReading(b *testing.B) {
	for _, processors := range []int{1, readProcessors} {
		b.Run(fmt.Sprint(processors), func(b *testing.B) {
			w := &WorkConsumer{conn: unconnected(b), cfg: DefaultWorkConfig(), pending: make(map[uint64]*batch), room: newRoom(DefaultWorkConfig().MaxBytes)}
			w.handler = func(_, _ string, work *telemetry.Work, _ int64, settled func(telemetry.Outcome, error)) {
				telemetry.ReleaseSlots(work.Slots)
				settled(telemetry.OutcomeDone, nil)
			}
			r := newReading(processors)
			payload := payloadOf("b", 4096)
			for i := range uint64(b.N) {
				w.deliver(r, &heldMessage{subject: "ringmaster.v1.work.gpu0.a", payload: payload, metadata: deliveredAs(i+1, 1)})
			}
			<-r.turn
		})
	}
}
