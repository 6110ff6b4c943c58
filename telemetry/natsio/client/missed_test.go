package client

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// A done record that is missed on a connection that lives, as that of a subscriber who was too slow,
// is read from the stream by who waits for it, which is said once.
func TestAWaitReadsWhatItMissedOnALivingConnection(t *testing.T) {
	url := newServer(t).URL()
	o := dial(t, url).NewOutlet(natsio.OutletConfig{KeepDone: natsio.KeepAlways})
	t.Cleanup(func() { must(t, o.Close(testContext(t))) })
	var lines strings.Builder
	cfg := config(url)
	cfg.Logger = slog.New(slog.NewTextHandler(&lines, nil))
	conn, err := natsio.Connect(cfg)
	must(t, err)
	t.Cleanup(func() {
		conn.Close()
		<-conn.Closed()
	})
	must(t, conn.WaitState(testContext(t), natsio.StateConnected))
	outcomes, err := FollowOutcomes(testContext(t), conn, "gpu0", "a", func(string) bool { return true })
	must(t, err)
	outcomes.quiet = time.Millisecond
	must(t, outcomes.done.Stop(testContext(t))) // it hears nothing any more
	for _, batch := range []string{"first", "other", "second"} {
		sent := make(chan error, 1)
		o.Done("gpu0", "a", &telemetry.Done{Batch: batch, Executed: 3}, func(err error) { sent <- err })
		must(t, receive(t, sent))
	}
	for _, batch := range []string{"first", "second"} {
		ended := ""
		must(t, outcomes.Wait(testContext(t), []string{batch}, func(d *telemetry.Done) error {
			ended = d.Batch
			return nil
		}, func(*telemetry.Rejected) {}))
		if ended != batch {
			t.Errorf("told of %q, want %q", ended, batch)
		}
	}
	if outcomes.Has("other") {
		t.Error("the record of a batch that nobody waits for takes room")
	}
	outcomes.Close()
	if n := strings.Count(lines.String(), "done records were missed"); n != 1 {
		t.Errorf("said %d times, want once: %s", n, lines.String())
	}
}

// Who may not read the stream is refused once, not every 15 s.
func TestARefusedReadingIsNotRepeated(t *testing.T) {
	c := dial(t, permitting(t, "ringmaster.v1.>"))
	o := &Outcomes{conn: c}
	for _, refused := range []string{"$JS.API.CONSUMER.CREATE.OTHER.x.y", "$JS.API.CONSUMER.CREATE.RINGMASTER_DONE.x.ringmaster.v1.done.gpu0.a"} {
		if !o.mayRead() {
			t.Fatal("nothing was refused that it takes to read done records")
		}
		must(t, c.NATS().Publish(refused, nil))
		must(t, c.Flush(testContext(t)))
	}
	if o.mayRead() {
		t.Error("it would be refused again")
	}
}
