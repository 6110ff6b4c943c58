package natsio

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/embedded"
	"ringmaster/telemetry/natsio/natstest"
)

// patience bounds every wait of the tests. It is no part of what they prove.
const patience = natstest.Patience

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		natstest.Remove()
		os.Exit(code)
	}))
}

// testContext ends with the test's patience.
func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func newServer(t *testing.T) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(embedded.DefaultConfig())
	must(t, err)
	t.Cleanup(s.Shutdown)
	return s
}

// fastConfig reconnects without the pauses that a production network needs.
func fastConfig(url string) Config {
	cfg := DefaultConfig()
	cfg.URL = url
	cfg.ReconnectMin, cfg.ReconnectMax = time.Millisecond, 20*time.Millisecond
	return cfg
}

func dial(t *testing.T, cfg Config) *Conn {
	t.Helper()
	c, err := Connect(cfg)
	must(t, err)
	t.Cleanup(func() {
		c.Close()
		<-c.Closed()
	})
	must(t, c.WaitState(testContext(t), StateConnected))
	return c
}

// flush makes sure that the server knows the connection's subscriptions and
// publications.
func flush(t *testing.T, c *Conn) {
	t.Helper()
	must(t, c.Flush(testContext(t)))
}

// askFor publishes records and waits for the recommendation that takes them into account.
func askFor(ctx context.Context, c *Conn, worker, queue string, payload []byte) (telemetry.Header, telemetry.Recommendation, error) {
	r, err := c.Ask(ctx, c.cfg.Subjects.Telemetry(worker, queue), payload, telemetry.DefaultTelemetryLimits, telemetry.SubjectSnapshot)
	if err != nil {
		return telemetry.Header{}, telemetry.Recommendation{}, err
	}
	return r.Header, r.Recommendation, nil
}

// snapshotOf asks for the last recommendation for a queue.
func snapshotOf(ctx context.Context, c *Conn, worker, queue string) (telemetry.Header, telemetry.Recommendation, error) {
	r, err := c.Ask(ctx, c.cfg.Subjects.Snapshot(worker, queue), nil, telemetry.DefaultTelemetryLimits, telemetry.SubjectSnapshot)
	if err != nil {
		return telemetry.Header{}, telemetry.Recommendation{}, err
	}
	return r.Header, r.Recommendation, nil
}

var must = natstest.Must

// receive waits for a value.
func receive[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v, ok := <-ch:
		if !ok {
			t.Fatal("channel closed")
		}
		return v
	case <-time.After(patience):
		t.Fatal("nothing arrived")
	}
	panic("unreachable")
}

// logLines collects the messages of a logger.
type logLines struct{ lines chan string }

func newLog() (*slog.Logger, *logLines) {
	l := &logLines{lines: make(chan string, 1000)}
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})), l
}

func (l *logLines) Write(p []byte) (int, error) {
	select {
	case l.lines <- string(p):
	default:
	}
	return len(p), nil
}

// wait returns the first line that contains text.
func (l *logLines) wait(t *testing.T, text string) string {
	t.Helper()
	for {
		if line := receive(t, l.lines); strings.Contains(line, text) {
			return line
		}
	}
}

// queueRecord encodes a queue record; length tells records apart.
func queueRecord(length uint32, queue string) []byte {
	h := telemetry.Header{Incarnation: 7, Seq: 1, SentNs: 1, Queue: queue}
	return telemetry.Append(nil, telemetry.EncodingMap, h, &telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: length})
}

// badRecord is a well-formed record whose kind exists and whose value does not fit.
func badRecord() []byte {
	h := telemetry.Header{Incarnation: 7, Seq: 1, SentNs: 1}
	g := telemetry.Graph{Has: telemetry.HasFrontierDensityBps, FrontierDensityBps: 10001}
	return telemetry.Append(nil, telemetry.EncodingMap, h, &g)
}

func priorityRecord() []byte {
	h := telemetry.Header{Incarnation: 7, Seq: 1, SentNs: 1}
	return telemetry.Append(nil, telemetry.EncodingMap, h, &telemetry.Priority{Has: telemetry.HasPriority, Priority: 1})
}

func workerRecord() []byte {
	h := telemetry.Header{Incarnation: 7, Seq: 1, SentNs: 1}
	w := telemetry.Worker{Has: telemetry.HasAllWorker, MaxWorkgroupSizeX: 256, MaxWorkgroupsPerDimension: 1024, MaxInvocationsPerWorkgroup: 256}
	return telemetry.Append(nil, telemetry.EncodingArray, h, &w)
}

// publishTelemetry sends records of a queue.
func publishTelemetry(c *Conn, worker, queue string, payload []byte) error {
	return c.publish(c.Subjects().Telemetry(worker, queue), payload)
}
