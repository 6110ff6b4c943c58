package client

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// wire is a connection to a server that can be cut and joined.
type wire struct {
	net.Listener
	to string

	mu   sync.Mutex
	cut  bool
	open []net.Conn
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	w := &wire{Listener: l, to: strings.TrimPrefix(to, "nats://")}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { w.carry(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		w.set(true)
		serving.Wait()
	})
	return w
}

func (w *wire) carry(c net.Conn) {
	defer c.Close()
	server, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer server.Close()
	w.mu.Lock()
	cut := w.cut
	w.open = append(w.open, c, server)
	w.mu.Unlock()
	if cut {
		return
	}
	go func() {
		_, _ = io.Copy(server, c)
		server.Close()
	}()
	_, _ = io.Copy(c, server)
}

// set cuts the wire, or joins it for those who come again.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	if cut {
		for _, c := range w.open {
			c.Close()
		}
		w.open = nil
	}
}

// A submitter that is away when its batch ends hears of it when it is back, where done records
// are kept.
func TestASubmitterThatWasAwayHearsWhatItMissed(t *testing.T) {
	url := newServer(t).URL()
	worker := dial(t, url)
	o := worker.NewOutlet(natsio.OutletConfig{KeepDone: natsio.KeepAlways})
	t.Cleanup(func() { must(t, o.Close(testContext(t))) })
	w := newWire(t, url)
	conn := dial(t, "nats://"+w.Addr().String())
	outcomes, err := FollowOutcomes(testContext(t), conn, "gpu0", "a", func(batch string) bool { return batch != "foreign" })
	must(t, err)
	defer outcomes.Close()
	end := func(batch string) {
		t.Helper()
		sent := make(chan error, 1)
		o.Done("gpu0", "a", &telemetry.Done{Batch: batch, Executed: 3}, func(err error) { sent <- err })
		must(t, receive(t, sent))
	}
	wait := func(batch string) error {
		return outcomes.Wait(testContext(t), []string{batch}, func(d *telemetry.Done) error { return nil }, func(*telemetry.Rejected) {})
	}
	end("here")
	must(t, wait("here"))
	w.set(true)
	must(t, conn.WaitState(testContext(t), natsio.StateDisconnected))
	end("foreign")
	end("missed")
	w.set(false)
	must(t, wait("missed"))
	end("again") // what comes now is heard as ever
	must(t, wait("again"))
	late, err := FollowOutcomes(testContext(t), conn, "gpu0", "a", func(batch string) bool { return batch == "again" })
	must(t, err)
	defer late.Close()
	if late.Has("again") {
		t.Error("heard what ended before without asking")
	}
	must(t, late.Kept(testContext(t), time.Now().Add(-time.Hour)))
	if !late.Has("again") || late.Has("here") {
		t.Error("what ended before is not heard, or that of others is")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := outcomes.Wait(ended, []string{"foreign"}, nil, nil); err == nil {
		t.Error("heard of somebody else's batch")
	}
}

// What the bounds of the stream remove while its records are read is not waited for.
func TestRecordsThatAreRemovedMeanwhileAreNotWaitedFor(t *testing.T) {
	c := dial(t, newServer(t).URL())
	ctx := testContext(t)
	stream, err := c.JetStream().CreateStream(ctx, jetstream.StreamConfig{
		Name: c.DoneStream(), Subjects: []string{"ringmaster.v1.done.>"}, Storage: jetstream.MemoryStorage,
	})
	must(t, err)
	const records, removed = 600, 560 // the library asks for 500 at a time
	payload := telemetry.Append(nil, telemetry.EncodingMap, telemetry.Header{Incarnation: 1, Seq: 1, SentNs: 1}, &telemetry.Done{Batch: "b"})
	for range records {
		_, err := c.JetStream().PublishAsync("ringmaster.v1.done.gpu0.q", payload)
		must(t, err)
	}
	receive(t, c.JetStream().PublishAsyncComplete())
	read := 0
	must(t, hearKept(ctx, c, "gpu0", "q", time.Time{}, func(*telemetry.Done) {
		if read++; read == 1 {
			must(t, stream.DeleteMsg(ctx, removed))
		}
	}))
	if read != records-1 {
		t.Errorf("%d of %d records were read", read, records-1)
	}
}
