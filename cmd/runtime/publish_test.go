package main

import (
	"strings"
	"sync"
	"testing"
	"time"

	"ringmaster/telemetry/natsio"
)

func TestPublishLines(t *testing.T) {
	s := serve(t, "--decide-only")
	publish := func(lines string, args ...string) outcome {
		t.Helper()
		return ringmaster(t, t.Context(), lines, append([]string{"publish", "--nats", s.url, "--worker", "w5"}, args...)...)
	}
	t.Run("an unknown name is refused with those that there are", func(t *testing.T) {
		got := publish(`{"kind":"queue","queue":"typo","queue_lenn":5}` + "\n")
		if got.code != 1 || !strings.Contains(got.err, `line 1: queue records have no field "queue_lenn"; there are `) || !strings.Contains(got.err, "queue_len,") {
			t.Errorf("exit code %d: %s", got.code, got.err)
		}
	})
	t.Run("a record that cannot be is refused by its kind, its field and why", func(t *testing.T) {
		for line, want := range map[string]string{
			`{"kind":"queue","queue_len":4294967296}`:                      "line 1: queue record: queue_len: got the integer 4294967296, want u32 0..2^32-1 items",
			`{"kind":"worker","max_workgroup_size_x":0}`:                   "line 1: worker record: max_workgroup_size_x: got the integer 0, want u32 1..2^32-1 invocations",
			`{"kind":"graph","graph_node_count":5,"frontier_nodes":7}`:     "line 1: graph record: frontier_nodes 7 exceeds graph_node_count 5",
			`{"kind":"launch","launch":1,"status":"ok","executed":"many"}`: "line 1: launch record: executed: got a string of 4 bytes, want u64",
			`{"kind":"queue","sent_ns":-5}`:                                "line 1: queue record: sent_ns: got a negative integer",
			`{"kind":"sausage"}`:                                           "line 1: the field kind has to be queue, graph, priority, launch or worker",
			`queue`:                                                        "line 1: want one JSON object",
		} {
			if got := publish(line+"\n", "--queue", "q"); got.code != 1 || !strings.Contains(got.err, want) {
				t.Errorf("%s: exit code %d: %s", line, got.code, got.err)
			}
		}
	})
	t.Run("a queue that another publisher reports is left to it", func(t *testing.T) {
		conn, err := natsio.Connect(natsConfig(s.url))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.WaitState(t.Context(), natsio.StateConnected); err != nil {
			t.Fatal(err)
		}
		seq := uint64(0)
		report := func() {
			seq++
			if err := conn.PublishRequest(conn.Subjects().Telemetry("w5", "busy"), "", lengthRecord(7, seq, "", 70_000)); err != nil {
				t.Error(err)
			}
		}
		report()
		report()
		if err := conn.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		// It goes on reporting: a publisher counts as live for a second after its last
		// record, and on a slow machine the command takes longer to start.
		stop := make(chan struct{})
		var reporting sync.WaitGroup
		reporting.Go(func() {
			for tick := time.NewTicker(20 * time.Millisecond); ; report() {
				select {
				case <-stop:
					tick.Stop()
					return
				case <-tick.C:
				}
			}
		})
		defer reporting.Wait()
		defer close(stop)
		const line = `{"kind":"queue","queue":"busy","queue_len":5}` + "\n"
		if got := publish(line); got.code != 1 || !strings.Contains(got.err, "did not take a record") || !strings.Contains(got.err, "published 0 records, refused 1 line") {
			t.Errorf("exit code %d: %s", got.code, got.err)
		}
		if got := publish(line, "--take-over"); got.code != 0 {
			t.Errorf("--take-over: exit code %d: %s", got.code, got.err)
		}
	})
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

func natsConfig(url string) natsio.Config {
	cfg := natsio.DefaultConfig()
	cfg.URL = url
	return cfg
}
