package natsio

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
)

// storedIn waits for the outcome of n done records of a queue and returns how many
// messages the stream has then.
func storedIn(t *testing.T, p *Outlet, c *Conn, queue string, n int, stream string) uint64 {
	t.Helper()
	sent := make(chan error, n)
	for i := range n {
		p.Done("gpu0", queue, &telemetry.Done{Batch: fmt.Sprintf("b%d", i)}, func(err error) { sent <- err })
	}
	for range n {
		must(t, receive(t, sent))
	}
	info, err := c.js.Stream(testContext(t), stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0
	}
	must(t, err)
	return info.CachedInfo().State.Msgs
}

func TestDoneStreamKeepsEveryConfirmedRecord(t *testing.T) {
	url := newServer(t).URL()
	c := dial(t, fastConfig(url))
	p := openOutlet(t, c, OutletConfig{KeepDone: KeepAlways})
	if n := storedIn(t, p, c, "a", 2000, "RINGMASTER_DONE"); n != 2000 || c.DoneStream() != "RINGMASTER_DONE" {
		t.Errorf("%d are stored in %s", n, c.DoneStream())
	}
	if s := p.Stats(); s.Done != 2000 || s.DoneFailed != 0 {
		t.Errorf("stats %+v", s)
	}
}

// Where the stream cannot be made, work goes on without it, unless it is demanded.
func TestDoneRecordsAreKeptWherePossible(t *testing.T) {
	c := dial(t, fastConfig(newServer(t).URL()))
	_, err := c.js.CreateStream(testContext(t), jetstream.StreamConfig{Name: c.DoneStream(), Subjects: []string{"else.>"}})
	must(t, err)
	for _, keep := range []KeepDone{KeepIfPossible, KeepAlways} {
		p := openOutlet(t, c, OutletConfig{KeepDone: keep})
		sent := make(chan error, 1)
		p.Done("gpu0", "a", &telemetry.Done{Batch: "b"}, func(err error) { sent <- err })
		if err := receive(t, sent); (err == nil) != (keep == KeepIfPossible) || err != nil && !errors.Is(err, ErrStreamConflict) {
			t.Errorf("keep %d: %v", keep, err)
		}
	}
}

// A stream that takes records and confirms none, as a server does that its cluster has lost, leaves nothing behind: of
// what waits for an answer the client keeps 4,000, and takes no more.
func TestARecordThatIsNeverConfirmedIsLetGo(t *testing.T) {
	c := dial(t, fastConfig(newServer(t).URL()))
	silent := c.doneStream()
	silent.NoAck = true
	_, err := c.js.CreateStream(testContext(t), silent)
	must(t, err)
	p := openOutlet(t, c, OutletConfig{KeepDone: KeepAlways})
	sent := make(chan error, 1)
	p.Done("gpu0", "a", &telemetry.Done{Batch: "b"}, func(err error) { sent <- err })
	if err := receive(t, sent); !errors.Is(err, ErrUnconfirmed) {
		t.Errorf("outcome %v", err)
	}
	if n := c.js.PublishAsyncPending(); n != 0 {
		t.Errorf("%d records wait for an answer", n)
	}
}
