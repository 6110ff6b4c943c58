package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/embedded"
)

func TestClientsOfTheDocumentation(t *testing.T) {
	t.Parallel() // it waits for other processes most of its time
	dir := nodeClients(t)
	s := serve(t, "--decide-only")
	t.Run("a publisher of maps is answered", func(t *testing.T) {
		publisherIsAnswered(t, dir, s.url, "map", load{length: 70_000, density: 9_000}, "dense_frontier")
	})
	t.Run("a publisher of arrays is answered", func(t *testing.T) {
		publisherIsAnswered(t, dir, s.url, "array", load{length: 64, density: 200}, "sparse_frontier", "--array")
	})
	t.Run("a publisher prints what is refused", func(t *testing.T) {
		publisher := startClient(t, dir, "publisher.mjs", "--server", s.url, "--density-bps", "20000", "--period", "20")
		refusal := publisher.line(publisher.errors, "refused")
		if !strings.Contains(refusal, "out_of_range") || !strings.Contains(refusal, "frontier_density_bps") {
			t.Errorf("printed %q", refusal)
		}
		publisher.terminate()
	})
	t.Run("a launcher reports what it launched", func(t *testing.T) { launcherReports(t, dir, s.url) })
	t.Run("the program in go.md runs from another module", func(t *testing.T) {
		if out := runDocumentedProgram(t, s.url); !strings.Contains(out, "answer to record 2: dense_frontier, ") {
			t.Errorf("printed %q", out)
		}
	})
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
	t.Run("a client says that no server answers", func(t *testing.T) {
		for _, program := range []string{"publisher.mjs", "subscriber.mjs"} {
			c := startClient(t, dir, program, "--server", s.url)
			c.line(c.errors, "CONNECTION_REFUSED")
			if code := c.ended(); code != 1 {
				t.Errorf("%s: exit code %d", program, code)
			}
		}
	})
	t.Run("the subscriber reads both encodings whole and drops what expired", func(t *testing.T) {
		subscriberReads(t, dir, telemetry.EncodingMap)
		subscriberReads(t, dir, telemetry.EncodingArray)
	})
	t.Run("fields and positions are those of the schema", func(t *testing.T) { fieldsAreTheSchemas(t, dir) })
}

// load is what a publisher reports.
type load struct{ length, density int }

// publisherIsAnswered publishes once and checks the plan that comes back, to a
// subscriber that waited for it and to one that comes later.
func publisherIsAnswered(t *testing.T, dir, url, queue string, l load, topology string, flags ...string) {
	common := []string{"--server", url, "--worker", "w2", "--queue", queue}
	subscriber := startClient(t, dir, "subscriber.mjs", common...)
	subscriber.line(subscriber.errors, "no recommendation yet") // it has subscribed now
	payload := overhear(t, url, "ringmaster.v1.telemetry.w2."+queue)
	flags = append(flags, "--count", "1", "--period", "1", "--queue-len", fmt.Sprint(l.length), "--density-bps", fmt.Sprint(l.density))
	publisher := startClient(t, dir, "publisher.mjs", append(flags, common...)...)
	sent := publisher.object(`"seq"`)
	if code := publisher.ended(); code != 0 || sent["seq"] != "2" {
		t.Errorf("publisher: exit code %d, printed %v", code, sent)
	}
	container := byte(0x80) // msgpack: a map of up to 15 pairs
	if slices.Contains(flags, "--array") {
		container = 0x90 // an array of up to 15 elements
	}
	if first := payload()[0]; first&0xf0 != container {
		t.Errorf("the first record begins with %#x, want %#x", first, container)
	}
	plan := answer(t, subscriber, sent)
	if plan["topology"] != topology || plan["queue_len"] != float64(l.length) ||
		plan["frontier_density_bps"] != float64(l.density) || plan["workgroup_size_x"] == 0.0 {
		t.Errorf("plan %v", plan)
	}
	late := startClient(t, dir, "subscriber.mjs", common...)
	if snapshot := answer(t, late, sent); snapshot["heartbeat"] != false || snapshot["topology"] != topology {
		t.Errorf("a late subscriber starts with %v, want the snapshot", snapshot)
	}
	subscriber.terminate()
	late.terminate()
}

// launcherReports has a publisher decided for, and compares what a launcher by those decisions says with what comes.
func launcherReports(t *testing.T, dir, url string) {
	conn := bustest.Dial(t, url)
	came := make(chan telemetry.Launch, 64)
	if _, err := conn.SubscribeLaunches("w3", "q", func(_, _ string, _ *telemetry.Header, l *telemetry.Launch) { came <- *l }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), clientPatience)
	defer cancel()
	if err := conn.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	launcher := startClient(t, dir, "launcher.mjs", "--server", url, "--worker", "w3", "--queue", "q", "--count", "1", "--slots", "100", "--elapsed-ns", "5000000000")
	publisher := startClient(t, dir, "publisher.mjs", "--server", url, "--worker", "w3", "--queue", "q", "--period", "20")
	said := launcher.object(`"launch"`)
	got := <-came
	if fmt.Sprint(said["decision"]) != fmt.Sprint(got.Decision) || got.Decision == 0 || got.Launch != 1 || got.Status != telemetry.LaunchOK ||
		got.Applied != got.Recommended || got.Applied.WorkgroupSizeX == 0 || got.ElapsedNs != 5e9 || got.TimeSource != telemetry.TimeQuery || got.Executed != 100 {
		t.Errorf("said %v, came %+v", said, got)
	}
	publisher.terminate()
}

// answer returns the plan that answers what a publisher printed.
func answer(t *testing.T, subscriber *nodeClient, sent map[string]any) map[string]any {
	t.Helper()
	for {
		r := subscriber.object(`"recommendation"`)
		if r["answered_incarnation"] == sent["incarnation"] && r["answered_seq"] == sent["seq"] && r["error"] == "" {
			return r
		}
	}
}

// shown is a runtime that only answers snapshots.
type shown struct{ last telemetry.Recommendation }

func (s shown) Ingest(string, string, *telemetry.Record, time.Time, string) error { return nil }
func (s shown) Announce(string, *telemetry.Record) error                          { return nil }
func (s shown) Latest(worker, queue string) (telemetry.Recommendation, bool)      { return s.last, true }

// everyField has a value of its own in every field.
var everyField = telemetry.Recommendation{
	Decision: 1 << 60, AnsweredIncarnation: 1<<64 - 1, AnsweredSeq: 3, AnsweredSentNs: 4, Error: "e",
	WorkgroupSizeX: 5, Groups: 6, ClaimChunk: 7, BatchDepth: 8, LaunchMode: "wave",
	DispatchGrid: [3]uint32{10, 11, 12}, WorkerGroups: 13, HitCapacity: 1<<32 - 1, ExecutionMode: "m",
	Topology: "t", MemoryBudgetBytes: 1 << 53, QueueLen: 16,
	FrontierDensityBps: 17, MemoryPressureBps: 18, Changed: true, ValidForMs: 1,
	Reasons: []telemetry.Reason{{Rule: "r", Threshold: 1 << 62, Value: 19, Distance: 20, Held: true}}, InFlight: 21, Fenced: true, Decided: []byte{22},
}

// subscriberReads compares what the subscriber prints of everyField with the
// JSON of this program.
func subscriberReads(t *testing.T, dir string, encoding telemetry.Encoding) {
	t.Helper()
	server, err := embedded.Start(embedded.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	cfg := natsio.DefaultConfig()
	cfg.URL, cfg.Encoding = server.URL(), encoding
	conn, err := natsio.Connect(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Serve(shown{everyField}, natsio.DefaultIngestConfig()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), clientPatience)
	defer cancel()
	if err := conn.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	c := startClient(t, dir, "subscriber.mjs", "--server", server.URL(), "--worker", "w", "--queue", "q")
	got := c.object(`"recommendation"`)
	if expired := c.object(`"expired"`); expired["decision"] != got["decision"] {
		t.Errorf("encoding %d: dropped %v", encoding, expired)
	}
	c.terminate()
	want := goJSON(t, &telemetry.Header{Minor: telemetry.Minor, Incarnation: cfg.Incarnation, Seq: 1, Queue: "q"})
	want["sent_ns"] = got["sent_ns"] // the clock's
	for name := range got {
		if a, b := flat(got[name]), flat(want[name]); a != b {
			t.Errorf("encoding %d: %s is %s, want %s", encoding, name, a, b)
		}
	}
	if len(got) != len(want) {
		t.Errorf("encoding %d: %d fields, want %d", encoding, len(got), len(want))
	}
}

// goJSON is everyField as this program prints it, with the reasons as objects and incarnations as the numbers that they are
// on the wire.
func goJSON(t *testing.T, h *telemetry.Header) (fields map[string]any) {
	t.Helper()
	line, err := telemetry.MarshalRecommendationJSON("w", h, &everyField)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber() // 2^64-1 is no float
	if err := decoder.Decode(&fields); err != nil {
		t.Fatal(err)
	}
	fields["incarnation"], fields["answered_incarnation"] = h.Incarnation, everyField.AnsweredIncarnation
	r := everyField.Reasons[0]
	fields["reasons"] = []any{map[string]any{
		"rule": r.Rule, "threshold": r.Threshold, "value": r.Value, "distance": r.Distance, "held": r.Held,
	}}
	return fields
}

// flat prints a JSON value so that a number and its digits in a string are the same.
func flat(value any) string {
	if number, ok := value.(float64); ok {
		return fmt.Sprintf("%.0f", number)
	}
	if list, ok := value.([]any); ok {
		for i := range list {
			list[i] = flat(list[i])
		}
	}
	return fmt.Sprint(value)
}

// schemaRow is a row of the tables in docs/wire.md.
var schemaRow = regexp.MustCompile(`(?m)^\| *\d+ \| (\w+)!? \| (\S+) \|`)

// fieldsAreTheSchemas compares the lists in wire.mjs with the schema.
func fieldsAreTheSchemas(t *testing.T, dir string) {
	list := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e",
		`import { kinds, wide } from "./wire.mjs"; console.log(JSON.stringify({ kinds, wide: [...wide] }))`)
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var wire struct {
		Kinds map[string]struct {
			Code   int
			Fields []string
		}
		Wide []string
	}
	if err := json.Unmarshal(out, &wire); err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(rootDir(t), "docs", "wire.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(doc), "\n## ")
	rows := func(title string) (names []string) {
		for _, section := range sections {
			if !strings.HasPrefix(section, title+"\n") {
				continue
			}
			for _, row := range schemaRow.FindAllStringSubmatch(section, -1) {
				names = append(names, row[1])
				if is64 := row[2] == "u64" || row[2] == "i64"; is64 != slices.Contains(wire.Wide, row[1]) {
					t.Errorf("%s: %s is %s, in wide: %v", title, row[1], row[2], !is64)
				}
			}
		}
		return names
	}
	header := rows("Header")
	for kind, got := range wire.Kinds {
		body := rows("Record " + kind)
		if want := append(slices.Clone(header), body...); len(body) == 0 || !slices.Equal(got.Fields, want) {
			t.Errorf("%s: fields\n%v, want\n%v", kind, got.Fields, want)
		}
		if telemetry.Kind(got.Code).String() != kind {
			t.Errorf("%s has code %d", kind, got.Code)
		}
	}
}

// runDocumentedProgram runs the program of docs/clients/go.md in a module of
// its own, which finds this one through a go.work file.
func runDocumentedProgram(t *testing.T, url string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(rootDir(t), "docs", "clients", "go.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```go\n")
	program, _, found := strings.Cut(rest, "\n```")
	if !found {
		t.Fatal("go.md has no program")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) string {
		c := exec.CommandContext(t.Context(), "go", args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GOWORK=", "GOFLAGS=")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	command("mod", "init", "example.com/plan")
	command("work", "init", ".", rootDir(t))
	return command("run", ".", url)
}
