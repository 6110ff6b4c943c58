package natsio

import (
	"errors"
	"fmt"
	"testing"
	"time"

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
		if err := receive(t, sent); err != nil {
			t.Fatal(err)
		}
	}
	info, err := c.js.Stream(testContext(t), stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0
	}
	must(t, err)
	return info.CachedInfo().State.Msgs
}

func TestADoneRecordIsConfirmedWhenTheStreamThatWasAskedForHasIt(t *testing.T) {
	url := embedded(t).URL()
	c := dial(t, fastConfig(url))
	p := openOutlet(t, c, func(cfg *OutletConfig) { cfg.DoneStream = true })
	if n := storedIn(t, p, c, "a", 2000, "RINGMASTER_DONE"); n != 2000 || c.DoneStream() != "RINGMASTER_DONE" {
		t.Errorf("%d are stored in %s", n, c.DoneStream())
	}
	if s := p.Stats(); s.Done != 2000 || s.DoneFailed != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestADoneRecordIsConfirmedBySomebodyElsesStream(t *testing.T) {
	url := embedded(t).URL()
	c, other := dial(t, fastConfig(url)), dial(t, fastConfig(url))
	_, err := other.js.CreateStream(testContext(t), jetstream.StreamConfig{
		Name: "MINE", Subjects: []string{"ringmaster.v1.done.*.kept"}, Storage: jetstream.MemoryStorage, MaxMsgs: 3, Discard: jetstream.DiscardNew,
	})
	must(t, err)
	p := openOutlet(t, c, nil)
	if n := storedIn(t, p, c, "other", 5, "MINE"); n != 0 {
		t.Errorf("%d of another queue are stored", n)
	}
	if n := storedIn(t, p, c, "kept", 3, "MINE"); n != 3 {
		t.Errorf("%d are stored", n)
	}
	sent := make(chan error, 1)
	p.Done("gpu0", "kept", &telemetry.Done{Batch: "b"}, func(err error) { sent <- err })
	if err := receive(t, sent); !errors.Is(err, ErrUnconfirmed) {
		t.Errorf("a stream that takes no more: %v", err)
	}
	// It is noticed that the stream is gone.
	must(t, other.js.DeleteStream(testContext(t), "MINE"))
	must(t, p.look(time.Now().Add(lookEvery)))
	if p.keepers.stored("ringmaster.v1.done.gpu0.kept") {
		t.Error("the stream is still believed in")
	}
}

func TestSubjectsMatchAsTheServerHasIt(t *testing.T) {
	for _, c := range []struct {
		pattern, subject string
		want             bool
	}{
		{"a.b", "a.b", true}, {"a.b", "a.c", false}, {"a.*", "a.b", true}, {"a.*", "a.b.c", false}, {"a.*.c", "a.b.c", true},
		{"a.>", "a.b.c", true}, {"a.>", "a", false}, {">", "a", true}, {"a", "a.b", false}, {"a.b.c", "a.b", false},
		{"*.*", "*.*", true}, {"a.*", "a.*", true}, {"a.b", "a.*", false}, {"a.>", "a.*.*", true},
	} {
		if got := subjectMatches(c.pattern, c.subject); got != c.want {
			t.Errorf("%s over %s: %t", c.pattern, c.subject, got)
		}
	}
}
