package decided

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/natstest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		natstest.Remove()
		os.Exit(code)
	}))
}

var must = natstest.Must

// lines collects what is logged.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

// wait returns the first line that contains a text.
func (l lines) wait(t testing.TB, text string) string {
	t.Helper()
	for {
		if line := bustest.Receive(t, l); strings.Contains(line, text) {
			return line
		}
	}
}

func newLog() (*slog.Logger, lines) {
	l := make(lines, 1000)
	return slog.New(slog.NewTextHandler(l, nil)), l
}

// node is a runtime's store, and what it says.
type node struct {
	*Store
	conn *natsio.Conn
	log  lines
}

func newNode(t testing.TB, url string) *node { return newBoundedNode(t, url, Bounds{}) }

func newBoundedNode(t testing.TB, url string, bounds Bounds) *node {
	t.Helper()
	n := &node{conn: bustest.Dial(t, url)}
	cfg := DefaultConfig()
	cfg.Policy, cfg.PolicyText, cfg.Bounds = "p1", []byte(`{"a":1}`), bounds
	cfg.Log, n.log = newLog()
	var err error
	n.Store, err = Open(n.conn, cfg)
	must(t, err)
	t.Cleanup(n.Close)
	return n
}

// ready waits until the node stores decisions.
func (n *node) ready(t testing.TB) *node {
	t.Helper()
	for until := time.Now().Add(natstest.Patience); n.Stats().Problem != ""; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal(n.Stats().Problem)
		}
	}
	return n
}

// result is what became of a write.
type result struct {
	sequence uint64
	how      telemetry.Written
}

// start begins to store decision number of a queue.
func (n *node) start(queue string, expect, number uint64, replies ...string) <-chan result {
	done := make(chan result, 2)
	r := &telemetry.Recommendation{
		Decision: number, Topology: "dense", ValidForMs: 3000, Reasons: []telemetry.Reason{{Rule: "r"}},
		Decided: fmt.Appendf(nil, `{"decision":%d}`, number),
	}
	n.Write("w", queue, expect, r, replies, func(sequence uint64, how telemetry.Written) { done <- result{sequence, how} })
	return done
}

func (n *node) store(t testing.TB, queue string, expect, number uint64) result {
	t.Helper()
	return bustest.Receive(t, n.start(queue, expect, number))
}

// stored is store of what has to succeed, and returns its sequence.
func (n *node) stored(t testing.TB, queue string, expect, number uint64) uint64 {
	t.Helper()
	r := n.store(t, queue, expect, number)
	if r.how != telemetry.WrittenStored {
		t.Fatalf("decision %d of %s after %d: %+v; %s", number, queue, expect, r, n.Stats().Problem)
	}
	return r.sequence
}

func (n *node) newest(t testing.TB, queue string) (*telemetry.Stored, error) {
	t.Helper()
	type answer struct {
		m   *telemetry.Stored
		err error
	}
	done := make(chan answer, 2)
	n.Last("w", queue, func(m *telemetry.Stored, err error) { done <- answer{m, err} })
	a := bustest.Receive(t, done)
	return a.m, a.err
}

// newestSoon is newest, which may fail for a while.
func (n *node) newestSoon(t testing.TB, queue string) *telemetry.Stored {
	t.Helper()
	for until := time.Now().Add(natstest.Patience); ; time.Sleep(10 * time.Millisecond) {
		m, err := n.newest(t, queue)
		if err == nil {
			return m
		}
		if time.Now().After(until) {
			t.Fatal(err)
		}
	}
}
