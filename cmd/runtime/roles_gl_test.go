//go:build cgo

package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/telemetry/decisionlog"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/decided"
)

// A worker that executes what others decide launches by their decisions; without them it decides
// itself, from where they were, and gives way when one is back.
func TestExecuteOnlyLaunchesWhatOthersDecide(t *testing.T) {
	requireGL(t)
	t.Parallel() // most of its time it waits
	url := serverOf(t)
	first := decider(t, url)
	s := serveWith(t, "--nats", url, "--worker", "w9", "--execute-only", "--share-device")
	submit := func() {
		t.Helper()
		got := ringmaster(t, t.Context(), "", "submit", "--nats", url, "--worker", "w9", "--queue", "q", "--slots", "nop x300", "--timeout", "30s")
		if got.code != 0 {
			t.Fatalf("submit: exit code %d, %s", got.code, got.err)
		}
	}
	conn := bustest.Dial(t, url)
	// by returns who made the queue's decisions, and checks that numbers go on.
	by := func() (nodes []decisionlog.ID) {
		t.Helper()
		number := uint64(0)
		err := decided.Read(t.Context(), conn, func(m decided.Message) error {
			d, err := decisionlog.DecodeDecided(m.Stored.Recommendation.Decided)
			if err != nil {
				return err
			}
			if d.Entry.Worker != "w9" {
				return nil
			}
			if d.Entry.Decision != number+1 && !d.Rejoined {
				t.Errorf("decision %d behind %d", d.Entry.Decision, number)
			}
			number = d.Entry.Decision
			nodes = append(nodes, d.Node)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return nodes
	}
	// newest waits until a process decides that is none of some.
	newest := func(what string, none ...decisionlog.ID) decisionlog.ID {
		t.Helper()
		for end := time.Now().Add(clientPatience); ; {
			submit()
			if nodes := by(); !slices.Contains(none, nodes[len(nodes)-1]) {
				return nodes[len(nodes)-1]
			}
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	other := newest("nobody decides")
	if nodes := by(); slices.ContainsFunc(nodes, func(n decisionlog.ID) bool { return n != other }) {
		t.Errorf("decided by %x", nodes)
	}
	first.kill()
	own := newest("the worker does not decide", other)
	decider(t, url)
	newest("the worker does not give way", other, own)
	got := ringmaster(t, t.Context(), "", "submit", "--nats", url, "--worker", "w9", "--queue", "other", "--slots", "nop x3", "--timeout", "30s", "--json")
	var ended struct{ Executed int }
	if line, _, _ := strings.Cut(got.stdout, "\n"); json.Unmarshal([]byte(line), &ended) == nil && ended.Executed != 3 {
		t.Errorf("a new queue: %+v", got)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

func TestRunDecidesOrExecutes(t *testing.T) {
	if got := ringmaster(t, t.Context(), "", "run", "--decide-only", "--execute-only"); got.code != 1 || !strings.Contains(got.err, "leave nothing to do") {
		t.Errorf("%+v", got)
	}
}
