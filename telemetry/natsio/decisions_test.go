package natsio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func readDecisions(t *testing.T, c *Conn) (logs []string) {
	t.Helper()
	err := c.ReadDecisions(testContext(t), func(log []byte) error {
		logs = append(logs, string(log))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return logs
}

func TestDecisionLogsComeBackInOrder(t *testing.T) {
	s := newServer(t)
	c := dial(t, fastConfig(s.URL()))
	if err := c.ReadDecisions(testContext(t), nil); !errors.Is(err, ErrNoDecisions) {
		t.Errorf("without a stream: %v", err)
	}
	w := c.NewDecisionWriter(256 << 20)
	var want []string
	for i := range 300 {
		want = append(want, fmt.Sprint("log ", i))
		if err := w.Write(testContext(t), []byte(want[i])); err != nil {
			t.Fatal(err)
		}
	}
	if got := readDecisions(t, c); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d logs %v", len(got), got)
	}
	stop := errors.New("enough")
	if err := c.ReadDecisions(testContext(t), func([]byte) error { return stop }); err != stop {
		t.Errorf("visit's error came back as %v", err)
	}
	stream, err := c.js.Stream(testContext(t), "RINGMASTER_DECISIONS")
	if err != nil {
		t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	if cfg.Retention != jetstream.LimitsPolicy || cfg.Discard != jetstream.DiscardOld || cfg.MaxBytes != 256<<20 || cfg.MaxAge != 7*24*time.Hour {
		t.Errorf("stream %+v", cfg)
	}
}

func TestDecisionStreamDropsItsOldest(t *testing.T) {
	s := newServer(t)
	c := dial(t, fastConfig(s.URL()))
	w := c.NewDecisionWriter(1 << 20)
	for i := range 8 {
		if err := w.Write(testContext(t), bytes.Repeat([]byte{byte('0' + i)}, 200<<10)); err != nil {
			t.Fatal(err)
		}
	}
	logs := readDecisions(t, c)
	if len(logs) != 5 || logs[0][0] != '3' || logs[4][0] != '7' {
		t.Errorf("%d logs left", len(logs))
	}
}

func TestDecisionStreamIsMadeAgainWhenItIsGone(t *testing.T) {
	s := newServer(t)
	c := dial(t, fastConfig(s.URL()))
	w := c.NewDecisionWriter(256 << 20)
	if err := w.Write(testContext(t), []byte("a")); err != nil {
		t.Fatal(err)
	}
	if err := c.js.DeleteStream(testContext(t), c.DecisionStream()); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(testContext(t), []byte("b")); err == nil {
		t.Error("stored in a stream that is gone")
	}
	if err := w.Write(testContext(t), []byte("c")); err != nil {
		t.Error(err)
	}
	if got := readDecisions(t, c); fmt.Sprint(got) != "[c]" {
		t.Errorf("logs %q", got)
	}
}

func TestDecisionWriterRefusesWhatCannotBeStored(t *testing.T) {
	s := newServer(t)
	c := dial(t, fastConfig(s.URL()))
	w := c.NewDecisionWriter(256 << 20)
	if err := w.Write(testContext(t), make([]byte, MaxDecisionMessage+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large a log: %v", err)
	}
	_, err := c.js.CreateStream(testContext(t), jetstream.StreamConfig{
		Name: c.DecisionStream(), Subjects: []string{"other"}, Storage: jetstream.MemoryStorage,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(testContext(t), []byte("a")); !errors.Is(err, ErrStreamConflict) {
		t.Errorf("a stream of that name over other subjects: %v", err)
	}
	s.Shutdown()
	if err := c.WaitState(testContext(t), StateDisconnected); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(context.Background(), []byte("a")); !errors.Is(err, ErrDisconnected) {
		t.Errorf("without a server: %v", err)
	}
}
