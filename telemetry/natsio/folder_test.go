package natsio

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"ringmaster/telemetry"
)

// arrays is a payload of queue records in array form, from first on.
func arrays(first uint64, queues ...string) (payload []byte) {
	for i, queue := range queues {
		h := telemetry.Header{Incarnation: 7, Seq: first + uint64(i), SentNs: 1, Queue: queue}
		payload = telemetry.AppendQueue(payload, telemetry.FormArray, &h, &telemetry.Queue{
			Has: telemetry.HasAllQueue, QueueLen: 1 << 20, MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65535,
			MaxInvocationsPerWorkgroup: 1024, RequestedHitCapacity: 1 << 20, RequeueCount: 1 << 40, ExecutedCount: 1 << 40,
		})
	}
	return payload
}

// many names the queues of a payload that is large enough for a folder.
var many = strings.Fields(strings.Repeat("a b c ", 4))

// TestFolderKeepsTheOrder gives the same messages to an intake that folds some
// of them on a second goroutine. Its sink has no lock: the race detector would
// see two calls at once.
func TestFolderKeepsTheOrder(t *testing.T) {
	conn := unconnected(t)
	if len(arrays(1, many...)) < besideBytes {
		t.Fatal("the payloads are too small for a folder")
	}
	beside := 0
	rapid.Check(t, func(rt *rapid.T) {
		plain, folded := &strictFlatSink{strictSink: strictSink{t: t, conn: conn}}, &strictFlatSink{strictSink: strictSink{t: t, conn: conn}}
		one := newIntake(&Ingest{conn: conn, sink: plain, cfg: DefaultIngestConfig()}, unlimited)
		two := newIntake(&Ingest{conn: conn, sink: folded, cfg: DefaultIngestConfig()}, unlimited)
		two.folder = newFolder(two.in, folded)
		waiting := 0
		two.folder.waiting = func(*nats.Msg) int { return waiting }
		messages := rapid.IntRange(1, 60).Draw(rt, "messages")
		for i := range messages {
			m := &nats.Msg{Subject: "ringmaster.v1.telemetry.gpu0._batch", Data: arrays(uint64(1+64*i), many...)}
			switch rapid.IntRange(0, 9).Draw(rt, "message") {
			case 0:
				m.Reply = "_INBOX.a.b"
			case 1:
				m.Data = slices.Concat(m.Data, queueRecord(1, "c"))
			case 2:
				m.Data = arrays(uint64(1+64*i), "a", "")
			case 3:
				m.Subject = "ringmaster.v1.telemetry"
			}
			if waiting--; waiting < 0 {
				waiting = rapid.IntRange(0, 40).Draw(rt, "waiting")
			}
			one.take(m)
			two.take(m)
			beside += two.folder.group.n
			if waiting == 0 && two.folder.group.n != 0 {
				rt.Fatal("what is decoded is not handed over, and no message follows")
			}
		}
		two.folder.close()
		<-two.folder.ended
		if !slices.Equal(plain.seen, folded.seen) || plain.flat != folded.flat {
			rt.Fatalf("with a folder the sink saw\n%q\nwithout one\n%q", folded.seen, plain.seen)
		}
		if a, b := one.in.records.Load(), two.in.records.Load(); a != b || one.in.refused.Load() != two.in.refused.Load() {
			rt.Fatalf("%d records, with a folder %d; %d refused, with a folder %d", a, b, one.in.refused.Load(), two.in.refused.Load())
		}
	})
	if beside == 0 {
		t.Error("the folder had nothing to do")
	}
}

// gatedSink waits at its gate.
type gatedSink struct {
	strictFlatSink
	gate chan struct{}
}

func (s *gatedSink) IngestFlat(worker string, records []telemetry.Flat, refused func(int, error)) int {
	<-s.gate
	return s.strictFlatSink.IngestFlat(worker, records, refused)
}

// TestStopFoldsWhatIsDecoded floods a runtime that has processors to spare, and
// stops it in the middle.
func TestStopFoldsWhatIsDecoded(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(foldersFrom))
	conn := dial(t, fastConfig(embedded(t).URL()))
	sender := dial(t, fastConfig(conn.nc.ConnectedUrl()))
	sink := &gatedSink{strictFlatSink{strictSink: strictSink{t: t, conn: conn}}, make(chan struct{})}
	cfg := DefaultIngestConfig()
	cfg.Telemetry = unlimited
	in, err := conn.Serve(sink, cfg)
	if err != nil {
		t.Fatal(err)
	}
	flush(t, conn)
	const messages = 500
	for i := range uint64(messages) {
		if err := sender.publish(fmt.Sprintf("%s.telemetry.gpu0._batch", conn.prefix()), arrays(1+64*i, many...)); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, sender)
	flush(t, conn)
	close(sink.gate) // now that all of them wait
	if err := in.Stop(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if n := in.Stats().Records; sink.flat != messages*len(many) || n != uint64(messages*len(many)) {
		t.Errorf("%d records in the sink, %d counted, want %d", sink.flat, n, messages*len(many))
	}
	if !in.folder.started {
		t.Error("nothing was folded beside the decoder")
	}
}
