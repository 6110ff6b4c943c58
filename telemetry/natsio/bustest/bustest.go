package bustest

import (
	"context"
	"testing"
	"time"

	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/embedded"
	"ringmaster/telemetry/natsio/natstest"
)

// Server starts a server with JetStream, which ends with the test.
func Server(t testing.TB) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(embedded.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

// Config is how tests connect: without the pauses that a production network needs.
func Config(url string) natsio.Config {
	cfg := natsio.DefaultConfig()
	cfg.URL, cfg.ReconnectMin, cfg.ReconnectMax = url, time.Millisecond, 20*time.Millisecond
	return cfg
}

// Dial connects to a server, and returns when it is there. The connection ends with the test.
func Dial(t testing.TB, url string) *natsio.Conn {
	t.Helper()
	c, err := natsio.Connect(Config(url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		<-c.Closed()
	})
	if err := c.WaitState(Context(t), natsio.StateConnected); err != nil {
		t.Fatal(err)
	}
	return c
}

// Context ends with the test's patience, and before that with the test, but only after what it still cleans up.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), natstest.Patience)
	t.Cleanup(cancel)
	return ctx
}

// Receive waits for a value.
func Receive[T any](t testing.TB, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(natstest.Patience):
		t.Fatal("nothing arrived")
	}
	return v
}
