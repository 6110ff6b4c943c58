package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/cmd/runtime/option"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/decisionlog"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/client"
	"ringmaster/telemetry/natsio/embedded"
)

func TestReplayUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {"a", "--stream"}, {"a", "--explain", "1", "--policy", "reference"}, {"a", "--policy", "best"}, {"a", "--diff"}, {"a", "--policy", "standard", "--json"}} {
		if got := ringmaster(t, t.Context(), "", append([]string{"replay"}, args...)...); got.code != 2 || got.err == "" {
			t.Errorf("%v: exit code %d, %q", args, got.code, got.err)
		}
	}
	if got := ringmaster(t, t.Context(), "", "replay", filepath.Join(t.TempDir(), "none")); got.code != 1 || !strings.Contains(got.err, "none") {
		t.Errorf("a file that is not there: exit code %d, %q", got.code, got.err)
	}
}

var quietLog = slog.New(slog.DiscardHandler)

// writeLog writes a decision log file.
func writeLog(t *testing.T, entries ...decisionlog.Entry) (path string) {
	t.Helper()
	section := decisionlog.NewSection(&decisionlog.Header{Incarnation: 7, Config: policy.Standard()})
	log := section.AppendHeader(nil)
	for i := range entries {
		log = section.Append(log, &entries[i])
	}
	path = filepath.Join(t.TempDir(), "decisions.log")
	if err := os.WriteFile(path, log, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// readAll reads a log that is whole.
func readAll(t *testing.T, path string) (entries []decisionlog.Entry) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for r := decisionlog.NewReader(file); ; {
		var e decisionlog.Entry
		if err := r.Next(&e); err == io.EOF {
			return entries
		} else if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
}

func TestRunRefusesADecisionLogThatItCannotWrite(t *testing.T) {
	got := ringmaster(t, t.Context(), "", "run", "--decide-only", "--listen", "127.0.0.1:0", "--store", t.TempDir(),
		"--decision-log", filepath.Join(t.TempDir(), "no", "such", "folder"))
	if got.code != 1 || !strings.Contains(got.err, "decision log") {
		t.Errorf("exit code %d: %s", got.code, got.err)
	}
}

// announce makes the worker of a served runtime known.
func announce(t *testing.T, url string) {
	t.Helper()
	publisher, err := client.NewPublisher(bustest.Dial(t, url), client.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	publisher.Announce("w1", &testWorker)
	ctx, cancel := context.WithTimeout(t.Context(), option.DialPatience)
	defer cancel()
	if err := publisher.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

var testWorker = telemetry.Worker{Has: telemetry.HasAllWorker, MaxWorkgroupSizeX: 256, MaxWorkgroupsPerDimension: 1024,
	MaxInvocationsPerWorkgroup: 256, SubgroupSize: 32, MemoryBudgetBytes: 1 << 30}

const replayLines = `{"kind":"graph","queue":"q1","graph_node_count":1000,"frontier_density_bps":9000}
{"kind":"queue","queue":"q1","queue_len":70000}
{"kind":"queue","queue":"q2","queue_len":3}
`

func TestRunLogsItsDecisionsToAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.log")
	s := serve(t, "--decide-only", "--decision-log", path)
	announce(t, s.url)
	watched := make(chan outcome, 1)
	go func() {
		watched <- ringmaster(t, t.Context(), "", "watch", "--nats", s.url, "--json", "--count", "4")
	}()
	publishUntilWatched(t, s.url, replayLines, watched)
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
	got := ringmaster(t, t.Context(), "", "replay", path)
	if got.code != 0 || !strings.Contains(got.stdout, "of 2 queues") || !strings.Contains(got.stdout, "every decision replays byte for byte") {
		t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.err)
	}
	if entries := readAll(t, path); entries[len(entries)-1].Plan.WorkgroupSizeX == 0 {
		t.Errorf("no plan in the last decision: %+v", entries[len(entries)-1])
	}
}

func TestReplayWithoutDecisionsComesWithAdvice(t *testing.T) {
	server, err := embedded.Start(embedded.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	got := ringmaster(t, t.Context(), "", "replay", "--stream", "--nats", server.URL())
	if got.code != 1 || !strings.Contains(got.err, "no stream RINGMASTER_DECIDED") || !strings.Contains(got.err, "--decision-log FILE") {
		t.Errorf("exit code %d: %s", got.code, got.err)
	}
}

func TestTheStreamOfDecisionsReplays(t *testing.T) {
	s := serve(t, "--decide-only")
	none := ringmaster(t, t.Context(), "", "replay", "--stream", "--nats", s.url)
	if none.code != 1 || !strings.Contains(none.err, "no decisions to replay") {
		t.Errorf("before the first decision: exit code %d: %s", none.code, none.err)
	}
	announce(t, s.url)
	published := ringmaster(t, t.Context(), replayLines, "publish", "--nats", s.url, "--worker", "w1")
	if published.code != 0 {
		t.Fatal(published.err)
	}
	for {
		got := ringmaster(t, t.Context(), "", "replay", "--stream", "--nats", s.url)
		if got.code == 0 && strings.Contains(got.stdout, "of 2 queues") {
			if !strings.Contains(got.stdout, "RINGMASTER_DECIDED") || !strings.Contains(got.stdout, "every decision replays byte for byte") {
				t.Errorf("%s", got.stdout)
			}
			break
		}
		if t.Context().Err() != nil {
			t.Fatalf("exit code %d: %s%s", got.code, got.stdout, got.err)
		}
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

func TestReplayComparesWithAPolicyFile(t *testing.T) {
	s := serve(t, "--decide-only")
	announce(t, s.url)
	if got := ringmaster(t, t.Context(), replayLines, "publish", "--nats", s.url, "--worker", "w1"); got.code != 0 {
		t.Fatal(got.err)
	}
	mine := filepath.Join(t.TempDir(), "mine.toml")
	if err := os.WriteFile(mine, []byte("[policy]\njit_queue_len_threshold = 100_000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	compare := func(flags ...string) outcome {
		return ringmaster(t, t.Context(), "", append([]string{"replay", "--stream", "--nats", s.url, "--policy", mine, "--diff"}, flags...)...)
	}
	for t.Context().Err() == nil {
		if got := compare("--json"); got.code == 0 && strings.Contains(got.stdout, `"queue":"w1.q1"`) {
			break
		}
	}
	if got := compare(); got.code != 0 || !strings.Contains(got.stdout, "mine.toml policy launches something else in ") {
		t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.err)
	}
	if err := os.WriteFile(mine, []byte("[policy]\njit_queue = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := compare(); got.code != 2 || !strings.Contains(got.err, `line 2, column 1: there is no key "policy.jit_queue"`) {
		t.Errorf("exit code %d: %s", got.code, got.err)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

// What reads a log says where it is damaged, whatever else it has to say.
func TestADamagedLogIsSaidToBe(t *testing.T) {
	for _, args := range [][]string{{"replay", "-"}, {"whatif", "-"}, {"replay", "-", "--policy", "reference", "--diff"}} {
		got := ringmaster(t, t.Context(), `{"type":"header","id":"7e`, args...)
		if got.code != 1 || !strings.Contains(got.stdout+got.err, "standard input: line 1, at byte 0, after 0 decisions: damaged") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
