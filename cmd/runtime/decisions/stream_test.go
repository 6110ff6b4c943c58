package decisions

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/decisionlog"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/decided"
	"ringmaster/telemetry/natsio/embedded"
)

// fleet is some processes that store decisions.
type fleet struct {
	t      *testing.T
	conn   *natsio.Conn
	stores []*decided.Store
	last   map[string]uint64 // sequence, by queue
}

func newFleet(t *testing.T, nodes int, cfg policy.Config) *fleet {
	t.Helper()
	url := bustest.Server(t).URL()
	f := &fleet{t: t, last: make(map[string]uint64)}
	for range nodes {
		f.conn = bustest.Dial(t, url)
		keep := decided.DefaultConfig()
		keep.Policy, keep.PolicyText = decisionlog.ConfigName(&cfg), decisionlog.ConfigText(&cfg)
		store, err := decided.Open(f.conn, keep)
		must(t, err)
		t.Cleanup(store.Close)
		for ; store.Stats().Problem != ""; time.Sleep(time.Millisecond) {
			if t.Context().Err() != nil {
				t.Fatal(store.Stats().Problem)
			}
		}
		f.stores = append(f.stores, store)
	}
	return f
}

// message is a decision as a process stores it.
func message(e *decisionlog.Entry, cfg *policy.Config) *decisionlog.Decided {
	return &decisionlog.Decided{Node: 7, Write: 8, Config: decisionlog.ConfigName(cfg), Software: "test", Entry: *e}
}

// store has a node store a message as a queue's next.
func (f *fleet) store(node int, worker, queue string, d *decisionlog.Decided) {
	f.t.Helper()
	text, err := decisionlog.EncodeDecided(d)
	if err != nil {
		f.t.Fatal(err)
	}
	stored := make(chan telemetry.Written)
	r := &telemetry.Recommendation{Decision: d.Entry.Decision, Decided: text}
	f.stores[node].Write(worker, queue, f.last[worker+queue], r, nil, func(sequence uint64, how telemetry.Written) {
		f.last[worker+queue] = sequence
		stored <- how
	})
	if how := <-stored; how != telemetry.WrittenStored {
		f.t.Fatalf("decision %d: %d", d.Entry.Decision, how)
	}
}

// replay is what the stream replays to.
func (f *fleet) replay(q Question) (out string, same bool, err error) {
	var b bytes.Buffer
	source := FromStream(f.t.Context(), f.conn)
	defer source.Close()
	same, err = Replay(&b, source, q)
	return b.String(), same, err
}

// However many processes decide, by turns, their decisions replay as those of one.
func TestTheStreamReplays(t *testing.T) {
	cfg := policy.Standard()
	for _, nodes := range []int{1, 2, 4} {
		f := newFleet(t, nodes, cfg)
		one, other := decideMany("w", "one", 200), decideMany("w", "other", 200)
		for i := range one {
			f.store(i%nodes, "w", "one", message(&one[i], &cfg))
			f.store((i/7)%nodes, "w", "other", message(&other[i], &cfg))
		}
		out, same, err := f.replay(Question{})
		if err != nil || !same || !strings.Contains(out, "RINGMASTER_DECIDED: 400 decisions of 2 queues") ||
			!strings.Contains(out, "every decision replays byte for byte") {
			t.Errorf("%d nodes: %v\n%s", nodes, err, out)
		}
		for line := range strings.Lines(out) {
			if fields := strings.Fields(line); strings.HasPrefix(line, "w.") && (fields[1] != "200" || fields[3] != "0") {
				t.Errorf("%d nodes: %s", nodes, line)
			}
		}
		reference := policy.Reference()
		if out, _, err := f.replay(Question{Policy: &reference, Name: "reference"}); err != nil || !strings.Contains(out, "the reference policy decides") {
			t.Errorf("%d nodes: %v\n%s", nodes, err, out)
		}
		var b bytes.Buffer
		source := FromStream(t.Context(), f.conn)
		source.Queue = "one"
		if err := Explain(&b, source, 150); err != nil || !strings.Contains(b.String(), "w.one, decision 150, by the standard policy of ringmaster test") {
			t.Errorf("%d nodes: %v\n%s", nodes, err, b.String())
		}
		source.Close() // before the end
	}
}

func TestWhatIsWrongInTheStreamIsSaid(t *testing.T) {
	cfg, other := policy.Standard(), policy.Reference()
	f := newFleet(t, 1, cfg)
	if _, _, err := f.replay(Question{}); err == nil || !strings.Contains(err.Error(), "no decisions to replay") {
		t.Errorf("an empty one: %v", err)
	}
	entries := decideMany("w", "q", 10)
	for i := range entries {
		d := message(&entries[i], &cfg)
		queue := "q"
		switch i {
		case 2:
			d.Entry.Plan.ClaimChunk++ // replays differently
		case 4:
			d.Config = decisionlog.ConfigName(&other) // whose text nobody has stored
		case 6:
			queue = "p" // the entry of another
		case 8:
			continue // is missing
		}
		f.store(0, "w", queue, d)
	}
	subject := f.conn.Subjects().Decided("w", "q")
	if _, err := f.conn.JetStream().Publish(t.Context(), subject, []byte("x")); err != nil {
		t.Fatal(err)
	}
	out, same, err := f.replay(Question{})
	if err != nil || same {
		t.Errorf("the same: %v, %v", same, err)
	}
	for _, want := range []string{
		"w.q: decision 3: plan.claim_chunk", "the policy configuration " + decisionlog.ConfigName(&other) + " is not in the stream",
		"its entry is that of another decision", "not a decision",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if fields := strings.Fields(out[strings.Index(out, "\nw.q"):]); fields[1] != "7" || fields[3] != "3" || fields[4] != "1" {
		t.Errorf("%v", fields)
	}
}

func TestReplayWithoutAStream(t *testing.T) {
	server, err := embedded.Start(embedded.DefaultConfig())
	must(t, err)
	defer server.Shutdown()
	cfg := natsio.DefaultConfig()
	cfg.URL = server.URL()
	conn, err := natsio.Connect(cfg)
	must(t, err)
	defer conn.Close()
	source := FromStream(context.Background(), conn)
	defer source.Close()
	if _, err := Replay(&bytes.Buffer{}, source, Question{}); !errors.Is(err, natsio.ErrNoDecisions) {
		t.Error(err)
	}
}
