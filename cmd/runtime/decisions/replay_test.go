package decisions

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"ringmaster/actors"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/decisionlog"
	"strings"
	"testing"
	"time"
)

// answers is a publisher that tells of each decision.
type answers chan uint64

func (a answers) Recommend(_, _ string, r *telemetry.Recommendation, _ []string) {
	if !r.Heartbeat {
		a <- r.Decision
	}
}
func (answers) Report(string, string, *telemetry.Launch)              {}
func (answers) Done(_, _ string, _ *telemetry.Done, sent func(error)) { sent(nil) }

var testWorker = telemetry.Worker{Has: telemetry.HasAllWorker, MaxWorkgroupSizeX: 256, MaxWorkgroupsPerDimension: 1024,
	MaxInvocationsPerWorkgroup: 256, SubgroupSize: 32, MemoryBudgetBytes: 1 << 30}

// recordedLog is the log of actors that were told n queue lengths, one after
// the other: the first before their worker is known, which is why it holds
// n+1 decisions. change may alter a record.
func recordedLog(t *testing.T, n int, change func(i int, q *telemetry.Queue)) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "recorded.log")
	file, err := openFile(path, 1<<28)
	must(t, err)
	log := newLog(file, testHeader(), quietLog)
	cfg := actors.DefaultConfig()
	cfg.Incarnation, cfg.OnDecision = 7, log.Record
	answered := make(answers, 16)
	system, err := actors.New(cfg, answered)
	must(t, err)
	decisions := uint64(0)
	await := func(err error) {
		t.Helper()
		must(t, err)
		decisions++
		if got := <-answered; got != decisions {
			t.Fatalf("decision %d, want %d", got, decisions)
		}
	}
	for i := range n {
		r := telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindQueue, Incarnation: 9, Seq: uint64(i + 1), SentNs: 1}}
		r.Queue = telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: uint32(i * i * 37 % 9000)}
		if change != nil {
			change(i, &r.Queue)
		}
		await(system.Ingest("w", "q", &r, time.Now(), ""))
		if i == 0 {
			r := telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindWorker, Incarnation: 8, Seq: 1}, Worker: testWorker}
			await(system.Announce("w", &r))
		}
	}
	system.Close()
	must(t, log.Close(t.Context()))
	return path
}

// outcome is what a command would print, and its exit code.
type outcome struct {
	code        int
	stdout, err string
}

func replayed(t *testing.T, path string, q Question) outcome {
	t.Helper()
	return replayedFrom(t, FromFile(path, nil), q)
}

func replayedFrom(t *testing.T, log *Source, q Question) (got outcome) {
	t.Helper()
	defer log.Close()
	var out strings.Builder
	same, err := Replay(&out, log, q)
	if err != nil {
		got.err = err.Error()
	}
	if !same {
		got.code = 1
	}
	got.stdout = out.String()
	return got
}

func explained(t *testing.T, path, queue string, decision uint64) (got outcome) {
	t.Helper()
	log := FromFile(path, nil)
	log.Queue = queue
	defer log.Close()
	var out strings.Builder
	if err := Explain(&out, log, decision); err != nil {
		got.code, got.err = 1, err.Error()
	}
	got.stdout = out.String()
	return got
}

func TestRecordedDecisionsReplayByteForByte(t *testing.T) {
	path := recordedLog(t, 100, nil)
	entries := readAll(t, path)
	if len(entries) != 101 || !entries[0].Undecided || entries[1].Undecided || entries[100].Plan.WorkgroupSizeX == 0 {
		t.Fatalf("%d decisions, the last %+v", len(entries), entries[len(entries)-1])
	}
	for _, args := range []string{path, "-"} {
		log, err := os.ReadFile(path)
		must(t, err)
		got := replayedFrom(t, FromFile(args, bytes.NewReader(log)), Question{})
		if got.code != 0 || !strings.Contains(got.stdout, "101 decisions of 1 queue\n") || !strings.Contains(got.stdout, "every decision replays byte for byte") {
			t.Errorf("%v: exit code %d: %s%s", args, got.code, got.stdout, got.err)
		}
		if row := strings.Fields(strings.Split(got.stdout, "\n")[2]); fmt.Sprint(row) != "[w.q 101 1 0 0]" {
			t.Errorf("%v: row %v", args, row)
		}
	}
}

func TestTamperedDecisionIsNamed(t *testing.T) {
	quiet := decideMany("w", "quiet", 30)
	for name, c := range map[string]struct {
		tamper func(e *decisionlog.Entry)
		want   string
	}{
		"plan":                  {func(e *decisionlog.Entry) { e.Plan.ClaimChunk = 1 }, "plan.claim_chunk: logged 1, replayed 256"},
		"reason":                {func(e *decisionlog.Entry) { e.Plan.Reasons[0].Held = !e.Plan.Reasons[0].Held }, "plan.reasons[0].held: logged "},
		"state":                 {func(e *decisionlog.Entry) { e.After.Plan.Mode = policy.ModeJIT }, "after.plan.mode: logged jit, replayed nothing"},
		"error":                 {func(e *decisionlog.Entry) { e.Error = "no" }, "error: logged no, replayed nothing"},
		"input":                 {func(e *decisionlog.Entry) { e.Request.QueueLen++ }, "plan.reasons["},
		"a plan without limits": {func(e *decisionlog.Entry) { e.Undecided = true }, "plan.workgroup_size_x: logged 256, replayed nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			entries := decideMany("w", "q", 30)
			c.tamper(&entries[16])
			path := writeLog(t, append(entries, quiet...)...)
			got := replayed(t, path, Question{})
			if got.code != 1 || !strings.Contains(got.stdout, "w.q: decision 17: ") || !strings.Contains(got.stdout, c.want) {
				t.Errorf("exit code %d, want %q in: %s%s", got.code, c.want, got.stdout, got.err)
			}
			if strings.Contains(got.stdout, "w.quiet: decision") {
				t.Errorf("the other queue is accused: %s", got.stdout)
			}
		})
	}
}

func TestMissingDecisionsAreCounted(t *testing.T) {
	entries := decideMany("w", "q", 20)
	again := decideMany("w", "q", 4) // the queue was idle for long, its numbers start over
	kept := append(append(entries[5:10:10], entries[13:]...), again...)
	got := replayed(t, writeLog(t, kept...), Question{})
	if row := strings.Fields(strings.Split(got.stdout, "\n")[2]); got.code != 0 || fmt.Sprint(row) != "[w.q 16 0 3 0]" {
		t.Errorf("exit code %d, row %v", got.code, row)
	}
}

func TestDamagedLogIsReplayedAsFarAsItIsWhole(t *testing.T) {
	path := writeLog(t, decideMany("w", "q", 10)...)
	log, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, log[:len(log)-10], 0o600))
	got := replayed(t, path, Question{})
	if got.code != 1 || !strings.Contains(got.stdout, "9 decisions") || !strings.Contains(got.stdout, "line 11, at byte ") || !strings.Contains(got.stdout, "after 9 decisions: ") {
		t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.err)
	}
	for name, content := range map[string][]byte{"empty": nil, "text": []byte("hello")} {
		must(t, os.WriteFile(path, content, 0o600))
		if got := replayed(t, path, Question{}); got.code != 1 || !strings.Contains(got.err, "no decisions") {
			t.Errorf("%s file: exit code %d: %s%s", name, got.code, got.stdout, got.err)
		}
	}
}

func TestOtherPolicyIsAReport(t *testing.T) {
	path := writeLog(t, decideMany("w", "q", 50)...)
	standard, reference := policy.Standard(), policy.Reference()
	same := replayed(t, path, Question{Policy: &standard, Name: "standard"})
	if same.code != 0 || !strings.Contains(same.stdout, "the standard policy decides 0 of 50 differently") {
		t.Errorf("exit code %d: %s", same.code, same.stdout)
	}
	other := replayed(t, path, Question{Policy: &reference, Name: "reference"})
	if other.code != 0 || !strings.Contains(other.stdout, "the reference policy decides 50 of 50 differently") ||
		!strings.Contains(other.stdout, "w.q: decision 1: plan.workgroup_size_x: logged 256, reference ") ||
		!strings.Contains(other.stdout, "after.plan.workgroup_size_x         50\n") {
		t.Errorf("exit code %d: %s", other.code, other.stdout)
	}
}

// The other policy decides from the state it left itself, until the logged
// state was taken back after a failed launch.
func TestOtherPolicyKeepsItsOwnState(t *testing.T) {
	entries := decideMany("w", "q", 4)
	wide := policy.Standard()
	wide.FrontierHysteresisBps = 900
	r := replayer{other: &wide, queues: map[string]*queueReplay{}, fields: map[string]uint64{}}
	var own policy.State
	for i := range entries {
		e := &entries[i]
		if i == 2 {
			e.Before = policy.State{} // taken back
			own = policy.State{}
		}
		r.entry(testHeader(), e)
		_, own, _ = policy.Decide(&wide, &e.Request, own)
		if got := r.queues["w.q"].own; got != own {
			t.Errorf("decision %d leaves %+v, want %+v", i+1, got, own)
		}
	}
}

func TestExplainSaysWhatChangedAndWhy(t *testing.T) {
	entries := decideMany("w", "q", 10)
	entries[8].Before.Plan.Groups++ // not what decision 8 left
	path := writeLog(t, append(entries, decideMany("w", "other", 10)...)...)
	var switched *decisionlog.Entry
	for i := range entries[1:8] {
		if e := &entries[i+1]; e.Before.Topology != e.After.Topology {
			switched = e
		}
	}
	got := explained(t, path, "w.q", switched.Decision)
	for _, want := range []string{
		fmt.Sprintf("w.q, decision %d, by the standard policy of ringmaster test\n", switched.Decision),
		fmt.Sprintf("answers records %d to %d of publisher 0000000000000009, the last one sent 1970-01-01T00:00:00", switched.Decision, switched.Decision),
		fmt.Sprintf("topology switched from %v to %v\n", switched.Before.Topology.Topology, switched.After.Topology.Topology),
		fmt.Sprintf("queue_len                             %d\n", switched.Request.QueueLen),
		"  RULE ", "  mode_queue_len ",
	} {
		if got.code != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("exit code %d, want %q in: %s%s", got.code, want, got.stdout, got.err)
		}
	}
	if strings.Contains(got.stdout, "took it back") {
		t.Errorf("a launch is said to have failed: %s", got.stdout)
	}
	both := explained(t, path, "", 9)
	if strings.Count(both.stdout, ", decision 9, by") != 2 || strings.Count(both.stdout, "took it back") != 1 {
		t.Errorf("%s", both.stdout)
	}
	none := explained(t, path, "", 11)
	if none.code != 1 || !strings.Contains(none.err, "has no decision 11 of what is asked for; its decisions are ") {
		t.Errorf("exit code %d: %s", none.code, none.err)
	}
}

func TestExplainWithoutAPlanSaysWhyThereIsNone(t *testing.T) {
	path := recordedLog(t, 1, nil)
	got := explained(t, path, "", 1)
	if got.code != 0 || !strings.Contains(got.stdout, "no plan: nobody announced this worker") || strings.Contains(got.stdout, "topology") {
		t.Errorf("exit code %d: %s", got.code, got.stdout)
	}
}
