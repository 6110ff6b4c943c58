package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"ringmaster/megakernel/policy"
)

// drawLayout fills a value with anything that its layout can hold, zeros often.
func drawLayout(t *rapid.T, l *layout, v reflect.Value) {
	if rapid.Bool().Draw(t, "zero") {
		return
	}
	switch l.kind {
	case layoutUint:
		v.SetUint(rapid.Uint64Range(0, 1<<l.bits-1).Draw(t, "uint"))
	case layoutInt:
		v.SetInt(rapid.Int64Range(0, maxI64).Draw(t, "int"))
	case layoutBool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case layoutText:
		v.SetString(rapid.StringN(-1, 100, MaxDecisionText).Draw(t, "text"))
	case layoutName:
		v.SetUint(uint64(rapid.IntRange(0, len(l.names)-1).Draw(t, "name")))
	case layoutList:
		for i := range l.length {
			drawLayout(t, l.elem, v.Index(i))
		}
	case layoutGroup:
		for i := range l.fields {
			drawLayout(t, l.fields[i].layout, v.Field(i))
		}
	}
}

func drawEntry(t *rapid.T) *DecisionEntry {
	e := new(DecisionEntry)
	l, v := decisionEntryLayout, reflect.ValueOf(e).Elem()
	for i := range l.fields {
		drawLayout(t, l.fields[i].layout, v.Field(i))
	}
	e.Worker = rapid.StringMatching(`[A-Za-z0-9-]{1,64}`).Draw(t, "worker")
	e.Queue = rapid.StringMatching(`[A-Za-z0-9-]{1,64}`).Draw(t, "queue")
	e.Error = strings.ToValidUTF8(e.Error, "")
	return e
}

func logHeader() *DecisionHeader {
	return &DecisionHeader{Incarnation: 7, Software: "test", Config: policy.Standard()}
}

// testEntry decides something that fills most fields.
func logEntry(number uint64) *DecisionEntry {
	cfg := policy.Standard()
	e := &DecisionEntry{
		Worker: "gpu0", Queue: "q", Decision: number,
		Records: DecisionRecords{Incarnation: 1 << 60, First: number, Last: number + 1, SentNs: 1_000_000_000},
		Request: policy.Request{
			QueueLen: 70_000 + uint32(number), GraphNodeCount: 100_000, GraphEdgeCount: 1_000_000, FrontierDensityBps: 6_000,
			Limits:         policy.Limits{MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32},
			HotOpcodeCount: 9, MemoryPressureBps: 100, MemoryBudgetBytes: 1 << 40, Present: policy.HasMemoryPressure,
		},
	}
	plan, after, err := policy.Decide(&cfg, &e.Request, e.Before)
	if err != nil {
		panic(err)
	}
	e.Plan, e.After = plan, after
	return e
}

func sampleLog(entries int) []byte {
	log := AppendDecisionHeader(nil, logHeader())
	for i := range entries {
		log = AppendDecision(log, logEntry(uint64(i+1)))
	}
	return log
}

func TestDecisionsRoundTripThroughAnySource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := []*DecisionEntry{drawEntry(t), drawEntry(t)}
		log := AppendDecisionHeader(nil, logHeader())
		for _, e := range want {
			log = AppendDecision(log, e)
		}
		// Two logs after each other are a log.
		log = append(log, log...)
		d := NewDecisionReader(iotest.OneByteReader(bytes.NewReader(log)))
		for i := range 4 {
			got := DecisionEntry{Error: "of the entry before", Undecided: true}
			if err := d.Next(&got); err != nil {
				t.Fatal(err)
			}
			if got != *want[i%2] {
				t.Fatalf("entry %d: differences %v", i, DiffDecisions(want[i%2], &got))
			}
		}
		header := logHeader()
		header.Format = DecisionFormat
		if *d.Header() != *header {
			t.Fatalf("header %+v", d.Header())
		}
		if err := d.Next(new(DecisionEntry)); err != io.EOF {
			t.Fatalf("after the last entry: %v", err)
		}
	})
}

func TestDecisionLogHasTheDocumentedBytes(t *testing.T) {
	h := &DecisionHeader{Incarnation: 300, Software: "v1", Config: policy.Config{MinHitCapacity: 1024, SeparateWidth: true}}
	want := literal(t, `82 b4'ringmaster_decisions' 84
		a6'format' 01
		ab'incarnation' cd012c
		a8'software' a2'v1'
		a6'config' 82 b0'min_hit_capacity' cd0400 ae'separate_width' c3
		a6'crc32c' ce307674a7`)
	if got := AppendDecisionHeader(nil, h); !bytes.Equal(got, want) {
		t.Errorf("header\n%x, want\n%x", got, want)
	}
	e := &DecisionEntry{
		Worker: "w", Queue: "q", Decision: 2, Records: DecisionRecords{First: 3, SentNs: 1},
		Request: policy.Request{QueueLen: 5, Limits: policy.Limits{SubgroupSize: 32}, Present: policy.HasMemoryPressure},
		Before:  policy.State{Topology: policy.TopologyState{Topology: policy.TopologyDense}},
		Plan: policy.Recommendation{DispatchGrid: [3]uint32{4, 1, 0}, Mode: policy.ModeJIT,
			Reasons: [policy.MaxReasons]policy.Reason{{Rule: policy.RuleDense, Held: true, Value: 9}}, ReasonCount: 1},
		Error: "no",
	}
	want = literal(t, `82 a8'decision' 88
		a6'worker' a1'w'
		a5'queue' a1'q'
		a8'decision' 02
		a7'records' 82 a5'first' 03 a7'sent_ns' 01
		a7'request' 83 a9'queue_len' 05 a6'limits' 81 ad'subgroup_size' 20 a7'present' 02
		a6'before' 81 a8'topology' 81 a8'topology' ae'dense_frontier'
		a4'plan' 84 ad'dispatch_grid' 92 04 01 a4'mode' a3'jit'
			a7'reasons' 91 83 a4'rule' ae'dense_frontier' a4'held' c3 a5'value' 09
			ac'reason_count' 01
		a5'error' a2'no'
		a6'crc32c' cebb48b5ad`)
	if got := AppendDecision(nil, e); !bytes.Equal(got, want) {
		t.Errorf("entry\n%x, want\n%x", got, want)
	}
}

// Every name that a log of an earlier version may hold is still read. New
// names need no line in the file; one is added to make the name permanent.
func TestNamesOfEarlierLogsStay(t *testing.T) {
	names := make(map[string]bool)
	var walk func(l *layout, name string)
	walk = func(l *layout, name string) {
		names[name] = true
		for _, value := range l.names {
			names[name+"="+value] = true
		}
		if l.elem != nil {
			walk(l.elem, name+"[]")
		}
		for _, f := range l.fields {
			walk(f.layout, joinField(name, f.name))
		}
		for earlier := range l.earlier {
			names[joinField(name, earlier)] = true
		}
	}
	walk(decisionHeaderLayout, "header")
	walk(decisionEntryLayout, "entry")
	list, err := os.ReadFile("testdata/decision_names.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.Lines(string(list)) {
		if name = strings.TrimSpace(name); !names[name] {
			t.Errorf("%s is gone; logs that have it no longer replay", name)
		}
	}
}

// The width was once all that the tuner chose, in a field of the request.
func TestTunedWidthOfEarlierLogsIsRead(t *testing.T) {
	log := literal(t, "82 a8'decision' 83 a6'worker' a1'w' a5'queue' a1'q' a7'request' 81 ab'tuned_width' cc80")
	log = append(log, decisionSumMark...)
	log = append(log, literal(t, fmt.Sprintf("ce%08x", crc32.Checksum(log[:len(log)-len(decisionSumMark)], castagnoli)))...)
	d := NewDecisionReader(io.MultiReader(bytes.NewReader(AppendDecisionHeader(nil, logHeader())), bytes.NewReader(log)))
	var e DecisionEntry
	if err := d.Next(&e); err != nil || e.Request.Tuned != (policy.Geometry{Width: 128}) || len(d.Unknown()) != 0 {
		t.Errorf("tuned %+v, unknown %v, %v", e.Request.Tuned, d.Unknown(), err)
	}
}

func TestKeysAreSnakeCase(t *testing.T) {
	for name, want := range map[string]string{
		"QueueLen": "queue_len", "WorkgroupSizeX": "workgroup_size_x", "JITQueueLenThreshold": "jit_queue_len_threshold",
		"SentNs": "sent_ns", "MaxUint8Value": "max_uint8_value", "ID": "id",
	} {
		if got := snakeCase(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestAppendDecisionDoesNotAllocate(t *testing.T) {
	most := 0.0
	if raceDetector {
		most = 1 // it makes sync.Pool forget encoders at random
	}
	e, buf := logEntry(1), make([]byte, 0, MaxDecisionBytes)
	if n := testing.AllocsPerRun(100, func() { buf = AppendDecision(buf[:0], e) }); n > most {
		t.Errorf("%v allocations", n)
	}
	log, entry := sampleLog(200), new(DecisionEntry)
	d := NewDecisionReader(bytes.NewReader(log))
	if n := testing.AllocsPerRun(100, func() { _ = d.Next(entry) }); n > most {
		t.Errorf("%v allocations to read an entry", n)
	}
}

func TestDiffNamesEveryFieldOnce(t *testing.T) {
	a, b := logEntry(1), logEntry(1)
	if list := DiffDecisions(a, b); len(list) != 0 {
		t.Errorf("equal entries differ: %v", list)
	}
	b.Plan.Reasons[1].Threshold++
	b.After.Plan.Mode = policy.ModeInterpreter
	b.Error = "x"
	want := []DecisionDifference{
		{"plan.reasons[1].threshold", "8500", "8501"},
		{"after.plan.mode", "jit", "interpreter"},
		{"error", `""`, `"x"`},
	}
	if list := DiffDecisions(a, b); !reflect.DeepEqual(list, want) {
		t.Errorf("differences %v, want %v", list, want)
	}
	h, other := logHeader(), logHeader()
	other.Config.Sizing.BatchDepth = 1
	if list := DiffDecisionHeaders(h, other); len(list) != 1 || list[0].Field != "config.sizing.batch_depth" {
		t.Errorf("differences of headers %v", list)
	}
}

func TestFieldsAreThoseOfTheLog(t *testing.T) {
	e := &DecisionEntry{Worker: "w", Before: policy.State{Plan: policy.PlanState{Groups: 3}}}
	want := []DecisionField{{"worker", `"w"`}, {"before.plan.groups", "3"}}
	if got := e.Fields(); !reflect.DeepEqual(got, want) {
		t.Errorf("fields %v, want %v", got, want)
	}
}

func TestSourceErrorsAreNotDamage(t *testing.T) {
	broken := errors.New("disk on fire")
	d := NewDecisionReader(io.MultiReader(bytes.NewReader(sampleLog(1)), iotest.ErrReader(broken)))
	err := d.Next(new(DecisionEntry))
	var damage *DecisionError
	if !errors.Is(err, broken) || errors.As(err, &damage) {
		t.Errorf("error %v", err)
	}
}
