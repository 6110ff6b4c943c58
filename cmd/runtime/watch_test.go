package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

func TestWatchSaysWhatWasDecided(t *testing.T) {
	a := client.Advice{Worker: "w1", Queue: "q", Valid: true, At: time.Now().Add(-12 * time.Second), Recommendation: telemetry.Recommendation{Topology: "dense_frontier", Decision: 7}}
	c := watchCmd{}
	if got := c.line(&a); !strings.HasPrefix(got, "w1.q: decision 7: dense_frontier") {
		t.Errorf("%q", got)
	}
	a.Valid = false
	if got := c.line(&a); !strings.Contains(got, "expired: nobody has decided for 12s") {
		t.Errorf("%q", got)
	}
	c.JSON = true
	if got := c.line(&a); got != "" {
		t.Errorf("%q is no recommendation", got)
	}
}

// The escape character of eight bits is no control character to JSON.
func TestWatchCleansTheTextOfJSON(t *testing.T) {
	c := watchCmd{JSON: true}
	got := c.line(&client.Advice{Worker: "w1", Queue: "q", Valid: true, Recommendation: telemetry.Recommendation{Error: "a\u009b2Jb\x1b[2J"}})
	if strings.ContainsAny(got, "\u009b\x1b") || !strings.Contains(got, `"error":"a`) {
		t.Errorf("%q", got)
	}
}

// late is a log that holds up what a connection reports outside of calls until it is released.
type late struct {
	slog.Handler
	released <-chan struct{}
}

func (h late) Enabled(context.Context, slog.Level) bool { return true }

func (h late) Handle(context.Context, slog.Record) error {
	<-h.released
	return nil
}

// A subscription that is refused is the end of watch, also where the answer to its question for the last recommendation
// is there before the refusal was told.
func TestWatchSaysThatItsSubscriptionIsRefused(t *testing.T) {
	s := startConf(t, new(violations), `authorization { users = [
		{ user: runtime, password: x }
		{ user: watcher, password: x, permissions: { publish: [ "ringmaster.v1.snapshot.w1.q" ], subscribe: [ "_INBOX.>" ] } } ] }`)
	as := func(user string) option.NATS {
		return option.NATS{URL: strings.Replace(s.ClientURL(), "//", "//"+user+":x@", 1), Prefix: telemetry.DefaultPrefix}
	}
	runtime := as("runtime")
	conn, err := runtime.Dial(t.Context(), "runtime", quietLog)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	released := make(chan struct{})
	answer := telemetry.Append(nil, telemetry.EncodingMap, telemetry.Header{Incarnation: 1, Seq: 1, SentNs: 1}, &telemetry.Recommendation{Decision: 1, ValidForMs: 60_000})
	if _, err := conn.NATS().Subscribe("ringmaster.v1.snapshot.w1.q", func(m *nats.Msg) {
		_ = m.Respond(answer)
		time.AfterFunc(100*time.Millisecond, func() { close(released) }) // a watch that takes the answer has ended before
	}); err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	watch := watchCmd{NATS: as("watcher"), Worker: "w1", Queue: "q", Count: 1}
	var printed bytes.Buffer
	err = watch.Run(t.Context(), terminal.Stdio{Out: &printed, Err: io.Discard}, slog.New(late{quietLog.Handler(), released}))
	if !errors.Is(err, natsio.ErrNotPermitted) || !strings.Contains(err.Error(), "ringmaster.v1.recommend.w1.q") || printed.Len() > 0 {
		t.Errorf("%v, printed %q", err, printed.String())
	}
}
