package client

import (
	"context"
	"net/url"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/embedded"
	"ringmaster/telemetry/natsio/natstest"
)

// patience bounds every wait of the tests. It is no part of what they prove.
const patience = natstest.Patience

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	must         = natstest.Must
	testContext  = bustest.Context
	config, dial = bustest.Config, bustest.Dial
)

func receive[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	return bustest.Receive(t, ch)
}

// server is an embedded server that can go and come back on the same port and store.
type server struct {
	t   testing.TB
	cfg embedded.Config
	*embedded.Server
}

func newServer(t testing.TB) *server {
	t.Helper()
	s := &server{t: t, cfg: embedded.DefaultConfig()}
	s.cfg.StoreDir = t.TempDir()
	s.start()
	t.Cleanup(func() { s.Shutdown() })
	u, err := url.Parse(s.URL())
	must(t, err)
	s.cfg.Port, err = strconv.Atoi(u.Port())
	must(t, err)
	return s
}

func (s *server) start() {
	s.t.Helper()
	var err error
	s.Server, err = embedded.Start(s.cfg)
	must(s.t, err)
}

// taken is a record that a sink has got.
type taken struct {
	worker, queue string
	kind          telemetry.Kind
	length        uint32
	launch        uint64
}

// sink takes records as a runtime does, and refuses those of the queue "refused".
type sink struct {
	calls  chan taken
	latest func(queue string) (telemetry.Recommendation, bool)
}

func newSink() *sink {
	return &sink{make(chan taken, 100_000), func(string) (telemetry.Recommendation, bool) { return telemetry.Recommendation{}, false }}
}

func (s *sink) Ingest(worker, queue string, r *telemetry.Record, _ time.Time, _ string) error {
	if queue == "refused" {
		return &telemetry.RecordError{Kind: r.Kind, Reason: telemetry.ReasonInconsistent, Err: context.Canceled}
	}
	s.calls <- taken{worker, queue, r.Kind, r.Queue.QueueLen, r.Launch.Launch}
	return nil
}

func (s *sink) Announce(worker string, r *telemetry.Record) error {
	s.calls <- taken{worker, "", r.Kind, 0, 0}
	return nil
}

func (s *sink) Latest(_, queue string) (telemetry.Recommendation, bool) { return s.latest(queue) }

// serve has a sink serve on a connection.
func serve(t testing.TB, c *natsio.Conn, s natsio.Sink) *natsio.Ingest {
	t.Helper()
	in, err := c.Serve(s, natsio.DefaultIngestConfig())
	must(t, err)
	must(t, c.Flush(testContext(t)))
	return in
}
