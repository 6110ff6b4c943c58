//go:build cgo

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/cmd/runtime/graphs"
	"ringmaster/cmd/runtime/option"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// graphBus is a worker with graphs, and what a subscriber sees of its queue walks.
type graphBus struct {
	t               *testing.T
	served          served
	conn            *natsio.Conn
	records         chan telemetry.Record // of kind graph
	recommendations chan telemetry.Recommendation
}

func newGraphBus(t *testing.T, args ...string) *graphBus {
	b := &graphBus{t: t, served: serve(t, args...), records: make(chan telemetry.Record, 1024), recommendations: make(chan telemetry.Recommendation, 1024)}
	flags := option.NATS{URL: b.served.url, Prefix: "ringmaster.v1"}
	var err error
	if b.conn, err = flags.Dial(t.Context(), "test", newLogger(io.Discard, "error", "text")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.conn.Close)
	if _, err := b.conn.SubscribeTelemetry("w1", "walks", func(_, _ string, r *telemetry.Record) {
		if r.Kind == telemetry.KindGraph {
			b.records <- telemetry.Record{Header: r.Header, Graph: r.Graph}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.conn.SubscribeRecommendations("w1", "walks", func(_, _ string, _ *telemetry.Header, r *telemetry.Recommendation) {
		if !r.Heartbeat {
			own := *r
			own.Reasons = slices.Clone(r.Reasons)
			b.recommendations <- own
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := b.conn.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// graph runs a graph command on a queue of the worker.
func (b *graphBus) graph(queue string, args ...string) outcome {
	b.t.Helper()
	got := ringmaster(b.t, b.t.Context(), "", append(append([]string{"graph"}, args...), "--nats", b.served.url, "--worker", "w1", "--queue", queue)...)
	if got.code != 0 {
		b.t.Fatalf("%v: %s", args, got.err)
	}
	return got
}

func (b *graphBus) run(args ...string) (r graphs.Report) {
	b.t.Helper()
	got := b.graph("walks", append([]string{"run", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		b.t.Fatal(err)
	}
	return r
}

// job collects the graph records of a job up to the one after it, and the recommendations up to the one that answers that.
func (b *graphBus) job() (records []telemetry.Record, answers []telemetry.Recommendation) {
	b.t.Helper()
	late := time.After(clientPatience)
	for {
		select {
		case r := <-b.records:
			records = append(records, r)
		case <-late:
			b.t.Fatalf("the job does not end: %d records", len(records))
		}
		if r := records[len(records)-1]; len(records) > 1 && !r.Graph.Has.Has(telemetry.HasFrontierNodes) {
			break
		}
	}
	end := records[len(records)-1].Header
	for {
		select {
		case r := <-b.recommendations:
			answers = append(answers, r)
		case <-late:
			b.t.Fatalf("nobody answers record %d: %d recommendations", end.Seq, len(answers))
		}
		if r := answers[len(answers)-1]; r.AnsweredIncarnation == end.Incarnation && r.AnsweredSeq == end.Seq {
			return records, answers
		}
	}
}

func TestGraphJobsStreamTelemetryAndRecommendations(t *testing.T) {
	requireGL(t)
	log := filepath.Join(t.TempDir(), "decisions.log")
	b := newGraphBus(t, "--decision-log", log)
	b.graph("walks", "load", "as", caida)
	if r := <-b.records; r.Graph.ResidentDeviceBytes != 532952 {
		t.Errorf("after the load: %+v", r)
	}
	device := b.run("bfs", "as", "--source", "0")
	records, answers := b.job()
	if first := records[0].Graph; first.NodeCount != 26475 || first.EdgeCount != 106762 || first.FrontierNodes != 1 || first.FrontierOutDegreeSum != 3 || first.UnexploredEdges != 106759 || first.ResidentDeviceBytes <= 532952 {
		t.Errorf("the first level's record: %+v", first)
	}
	if len(records) < 3 || len(answers) < 2 {
		t.Errorf("%d records and %d recommendations of a job on the device", len(records), len(answers))
	}
	if a := answers[0]; a.Topology != device.Topologies[0] || a.Error != "" || a.HitCapacity != 26475 || device.HitCapacity != 26475 || a.AnsweredSeq != records[0].Seq {
		t.Errorf("the first recommendation: %+v", a)
	}
	if last := answers[len(answers)-1]; last.Topology != "none" || last.QueueLen != 0 {
		t.Errorf("after the job: %+v", last)
	}

	if last := records[len(records)-1].Graph; last.HitCount < 26474 || last.RequeuedHitCount != device.Requeued {
		t.Errorf("counted after the job: %+v", last)
	}

	// What the job left for the next is resident too, and used again.
	if last := records[len(records)-1].Graph; last.ResidentDeviceBytes != 532952+device.JobBytes {
		t.Errorf("%d bytes after the job, want those of the graph and %d of the job", last.ResidentDeviceBytes, device.JobBytes)
	}
	begun := records[0].Graph.ResidentDeviceBytes

	host := b.run("bfs", "as", "--source", "0", "--decide", "host")
	records, answers = b.job()
	if again := records[0].Graph.ResidentDeviceBytes; again != begun {
		t.Errorf("%d bytes when the next job begins, want %d", again, begun)
	}
	var decided []string
	for _, a := range answers[:len(answers)-1] {
		decided = append(decided, a.Topology)
	}
	if len(records) != 16 || !slices.Equal(decided, host.Topologies) || !slices.Equal(host.Topologies, device.Topologies) {
		t.Errorf("%d records; recommended %v, the host ran %v, the device %v", len(records), decided, host.Topologies, device.Topologies)
	}

	status, err := askStatus(b.served.url)
	var stats struct {
		RecordsRefused uint64 `json:"records_refused"`
		EchoesDropped  uint64 `json:"echoes_dropped"`
	}
	if err == nil {
		err = json.Unmarshal(status, &stats)
	}
	if err != nil || stats.RecordsRefused != 0 || stats.EchoesDropped < 16 {
		t.Errorf("%+v, %v", stats, err)
	}
	if code := b.served.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
	got := ringmaster(t, t.Context(), "", "replay", log)
	if got.code != 0 || !strings.Contains(got.stdout, "w1.walks levels         15 ") || !strings.Contains(got.stdout, "every decision replays") {
		t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.err)
	}
}

func TestWhatGraphsLeaveDecidesHowTheNextJobRuns(t *testing.T) {
	requireGL(t)
	free := graphJSON(t, "", "run", "bfs", "--source", "0", caida)
	fixed := free.JobBytes - 8*uint64(free.HitCapacity)
	const nodes = 29_000
	path, second := filepath.Join(t.TempDir(), "path.el"), uint64(4*(nodes+1+2*(nodes-1)))
	var edges strings.Builder
	for v := range nodes - 1 {
		fmt.Fprintln(&edges, v, v+1)
	}
	if err := os.WriteFile(path, []byte(edges.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	// With a second graph beside it, a job takes 92 % of what is left for its queue.
	b := newGraphBus(t, "--memory-budget", fmt.Sprint(second+(free.GraphBytes+fixed)*100/92))
	b.graph("walks", "load", "as", caida)
	if r := b.run("bfs", "as", "--source", "0"); !slices.Equal(r.Topologies, free.Topologies) {
		t.Errorf("with room: %v, want %v", r.Topologies, free.Topologies)
	}
	b.graph("others", "load", "as", path)
	r := b.run("bfs", "as", "--source", "0")
	if slices.ContainsFunc(r.Topologies, func(s string) bool { return s != "memory_constrained" }) || !slices.Equal(r.Levels, free.Levels) || r.HitCapacity >= free.HitCapacity {
		t.Errorf("beside another graph: %+v", r)
	}
	b.graph("others", "drop", "as")
	if r := b.run("bfs", "as", "--source", "0"); !slices.Equal(r.Topologies, free.Topologies) {
		t.Errorf("with room again: %v, want %v", r.Topologies, free.Topologies)
	}
	if code := b.served.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

// What publishers say of a queue holds for its jobs too: hot opcodes fuse dense levels.
func TestAQueuesHotOpcodesFuseItsGraphJobs(t *testing.T) {
	requireGL(t)
	b := newGraphBus(t)
	b.graph("walks", "load", "as", caida)
	got := ringmaster(t, t.Context(), `{"kind":"queue","queue_len":0,"hot_opcode_count":1000}`+"\n", "publish", "--nats", b.served.url, "--worker", "w1", "--queue", "walks")
	if got.code != 0 {
		t.Fatal(got.err)
	}
	late := time.After(clientPatience)
	for known := false; !known; {
		select {
		case r := <-b.recommendations:
			known = slices.ContainsFunc(r.Reasons, func(why telemetry.Reason) bool { return why.Rule == policy.RuleModeHotOpcodes.String() })
		case <-late:
			t.Fatal("nobody has heard of the hot opcodes")
		}
	}
	for _, decide := range []string{"device", "host"} {
		r := b.run("bfs", "as", "--source", "0", "--decide", decide)
		if want := []string{"sparse_frontier", "sparse_frontier", "hybrid_frontier", "fused_dense", "fused_dense", "fused_dense", "sparse_frontier"}; !slices.Equal(r.Topologies[:7], want) {
			t.Errorf("decided on the %s: %v", decide, r.Topologies)
		}
	}
	if code := b.served.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}
