package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"ringmaster/cmd/runtime/worker"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/advisory"
	"ringmaster/telemetry/natsio/bustest"
)

// asker asks what a program that knows only NATS can ask.
type asker struct {
	*natsio.Conn
	t *testing.T
}

func askerOn(t *testing.T, url string) asker {
	t.Helper()
	conn := bustest.Dial(t, url)
	return asker{conn, t}
}

// ask sends an empty request, and reads the answer into a value.
func (a asker) ask(subject string, into any) *nats.Msg {
	a.t.Helper()
	m, err := a.NATS().Request("ringmaster.v1."+subject, nil, clientPatience)
	if err != nil {
		a.t.Fatalf("%s: %v", subject, err)
	}
	if err := json.Unmarshal(m.Data, into); err != nil {
		a.t.Fatalf("%s: %v in %s", subject, err, m.Data)
	}
	return m
}

// Two processes of one name are asked each by the id of its service, and one of them is told to drain.
func TestAServiceTellsItsStateAndSettingsAndDrains(t *testing.T) {
	url := serverOf(t)
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte("drain = \"3s\"\n[policy]\nsparse_frontier_bps = 400\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	masked := strings.Replace(url, "//", "//u:secret@", 1) // a server without users takes any
	first, second := startNode(t, masked, "--decide-only", "--config", file, "--max-queues", "100"), decider(t, url)
	ringmasterUntil(t, url, `{"kind":"worker","max_workgroup_size_x":256,"max_compute_workgroups_per_dimension":1000,"max_compute_invocations_per_workgroup":256}`+"\n"+
		`{"kind":"queue","queue_len":300}`+"\n"+`{"kind":"queue","queue_len":9000}`+"\n")
	nobody := askerOn(t, url)
	id := func(n *node) string { return fmt.Sprintf("%016x", n.id) }

	var state worker.State
	nobody.ask("state."+id(first), &state)
	if state.Node != id(first) || state.Worker != "w1" || state.Role != worker.RoleDecideOnly || state.Draining || state.Device != nil || len(state.Queues) != 1 {
		t.Fatalf("%+v", state)
	}
	if q := state.Queues[0]; q.Worker != "w7" || q.Queue != "q" || q.Decision == 0 || q.RecordS == nil || q.DecisionS == nil || q.Length == 0 || q.Plan.Width == 0 {
		t.Errorf("%+v", q)
	}
	var status struct{ Deciders []struct{ Incarnation any } }
	if nobody.ask("status", &status); len(status.Deciders) != 2 || status.Deciders[0].Incarnation != id(first) && status.Deciders[0].Incarnation != id(second) {
		t.Errorf("%+v", status)
	}
	var raw struct{ Queues []struct{ Decision any } }
	if nobody.ask("state."+id(second), &raw); len(raw.Queues) != 1 || fmt.Sprintf("%T", raw.Queues[0].Decision) != "string" {
		t.Errorf("%+v", raw)
	}

	var config worker.Settings
	m := nobody.ask("config."+id(first), &config)
	got := map[string]worker.Setting{}
	for _, s := range config.Settings {
		got[s.Name] = s
	}
	for _, want := range []worker.Setting{
		{Name: "max-queues", Value: "100", From: "command line"}, {Name: "drain", Value: "3s", From: file + ": line 1"},
		{Name: "hang-after", Value: "30s", From: "default"}, {Name: "policy.sparse_frontier_bps", Value: "400", From: "the policy of this process"},
	} {
		if got[want.Name] != want {
			t.Errorf("%+v, want %+v", got[want.Name], want)
		}
	}
	if strings.Contains(string(m.Data), "secret") || !strings.Contains(got["nats"].Value, "u:xxxxx@") {
		t.Errorf("a password is told: %s", m.Data)
	}

	var info micro.Info
	about, err := nobody.NATS().Request("$SRV.INFO.ringmaster."+id(first), nil, clientPatience)
	if err != nil || json.Unmarshal(about.Data, &info) != nil {
		t.Fatal(err)
	}
	for _, e := range info.Endpoints {
		var schema struct{ Required []string }
		if e.Name != "status" && (json.Unmarshal([]byte(e.Metadata["schema"]), &schema) != nil || len(schema.Required) == 0) {
			t.Errorf("%s has the schema %q", e.Name, e.Metadata["schema"])
		}
	}
	if len(info.Endpoints) != 5 {
		t.Errorf("%+v", info.Endpoints)
	}

	var draining worker.Draining
	if nobody.ask("drain."+id(first), &draining); draining.Node != id(first) {
		t.Errorf("%+v", draining)
	}
	<-first.ended
	if err := first.Wait(); err != nil {
		t.Errorf("it was told to drain, and ended with %v", err)
	}
	if _, err := nobody.NATS().Request("ringmaster.v1.state."+id(first), nil, clientPatience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("after its end: %v", err)
	}
	if nobody.ask("state."+id(second), &state); state.Draining {
		t.Error("the other one drains too")
	}
}

// Operators see who decides come, go, and take over, each once.
func TestEventsTellWhoComesAndGoes(t *testing.T) {
	url := serverOf(t)
	operator := askerOn(t, url)
	heard := make(chan *nats.Msg, 64)
	if _, err := operator.NATS().ChanSubscribe("ringmaster.v1.advisory.>", heard); err != nil {
		t.Fatal(err)
	}
	if err := operator.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := func() (e advisory.Event) {
		t.Helper()
		select {
		case m := <-heard:
			if err := json.Unmarshal(m.Data, &e); err != nil {
				t.Fatalf("%v in %s", err, m.Data)
			}
		case <-time.After(clientPatience):
			t.Fatal("nothing is told")
		}
		e.Type = strings.TrimPrefix(e.Type, "ringmaster.advisory.v1.")
		return e
	}
	nodes := map[string]*node{}
	for range 2 {
		n := decider(t, url)
		id := fmt.Sprintf("%016x", n.id)
		nodes[id] = n
		if e := next(); e.Type != "node_joined" || e.Node != id || e.Worker != "w1" || !strings.Contains(e.Process, "decides only") {
			t.Errorf("%+v", e)
		}
	}
	records := `{"kind":"worker","max_workgroup_size_x":256,"max_compute_workgroups_per_dimension":1000,"max_compute_invocations_per_workgroup":256}` + "\n" + `{"kind":"queue","queue_len":300}` + "\n"
	ringmasterUntil(t, url, records)
	var owner, other string
	for id := range nodes {
		var state worker.State
		if operator.ask("state."+id, &state); len(state.Queues) == 1 && state.Queues[0].Standing == "stored" {
			owner = id
		} else {
			other = id
		}
	}
	if owner == "" || other == "" {
		t.Fatalf("it is not one of the two that decides: %q and %q", owner, other)
	}
	nodes[owner].kill()
	if e := next(); e.Type != "node_lost" || e.Node != other || !strings.Contains(e.Process, fmt.Sprint("process ", nodes[owner].Process.Pid)) {
		t.Errorf("%+v", e)
	}
	ringmasterUntil(t, url, records)
	if e := next(); e.Type != "took_over" || e.Node != other || e.Worker != "w7" || e.Queue != "q" || e.Decision == 0 {
		t.Errorf("%+v", e)
	}
	nodes[other].drained()
	if e := next(); e.Type != "node_draining" || e.Node != other {
		t.Errorf("%+v", e)
	}
	if len(heard) > 0 {
		t.Errorf("%s too", (<-heard).Data)
	}
}
