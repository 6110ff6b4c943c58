package explain

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/decisionlog"
)

// now is when these tests ask.
var now = time.Date(2026, 11, 23, 3, 0, 10, 0, time.UTC)

// decision is the number-th of a queue, a second before the next, with so many slots waiting.
func decision(number uint64, length uint32) Decision {
	r := &telemetry.Recommendation{
		Decision: number, Topology: "none", ExecutionMode: "interpreter", LaunchMode: "wave", WorkgroupSizeX: 256, Groups: 12, ClaimChunk: 64, BatchDepth: 4096, InFlight: 1, QueueLen: length,
		Reasons: []telemetry.Reason{{Rule: "no_graph", Threshold: 1, Distance: 1}, {Rule: "mode_queue_len", Value: uint64(length), Threshold: 4096, Distance: 4096 - uint64(length)}},
	}
	d := &decisionlog.Decided{Node: 7, Config: "c0ffee", Software: "test", Entry: decisionlog.Entry{Decision: number}}
	d.Entry.Request.QueueLen = length
	d.Entry.Request.Limits = policy.Limits{MaxWorkgroupSizeX: 1024, MaxInvocationsPerWorkgroup: 512, Units: 132}
	return Decision{Sequence: number, At: now.Add(-time.Second), Recommendation: r, Decided: d}
}

func says(t *testing.T, e *Explanation, want ...string) {
	t.Helper()
	text := e.Text()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
}

func TestAnExplanationSaysWhyAndWhatWouldChangeIt(t *testing.T) {
	d := decision(7, 3000)
	d.Entry.Records = decisionlog.Records{Incarnation: 0x1234, First: 5, Last: 6, SentNs: now.Add(-3 * time.Second).UnixNano()}
	d.Entry.Request.Cost = policy.Cost{LaunchNs: 12_000, SlotPs: 45_200}
	d.Memory = json.RawMessage(`{"cell":{"history":{"launches":68}},"tuned":{"geometries":[{"width":64}]}}`)
	d.Entry.Plan.Tuned = policy.TunedWidth | policy.TunedGroups
	stored := uint64(2)
	e := Of(now, "gpu0", "jobs", []Decision{decision(6, 3000), d}, Heard{Stored: &stored})
	says(t, &e, "gpu0.jobs is ok: interpreter: 3,000 slots, compiled from 4,096 on", "next: nothing",
		"256×12 (width × workgroups), 64 slots a claim, up to 4,096 slots a launch, 1 launch under way", "decision 7, 1 s ago, by process 0000000000000007 of ringmaster test",
		"for 2 decisions of the 2 that are kept", "1,096 slots more, at 4,096 slots", "a graph", "3,000 slots", "record 6 of publisher 0000000000001234", "0000000000001234, record 6, sent 3 s ago",
		"12.0 µs and 45.2 ns a slot", "68 launches of the queue", "workgroups of up to 512, 132 units", "holds the best geometry for 1 size of launch, of 68 launches; this plan has its width, workgroups",
		"2 batches wait or run")
	text, err := json.Marshal(&e)
	if err != nil || !strings.Contains(string(text), `"decision":"7"`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestChangesAreToldWithTheirCause(t *testing.T) {
	compiled := decision(3, 5000)
	compiled.Recommendation.ExecutionMode, compiled.Recommendation.BatchDepth = "jit", 256
	compiled.Recommendation.Reasons = []telemetry.Reason{{Rule: "first_launch", Value: 5000, Threshold: 256}, {Rule: "mode_queue_len", Value: 5000, Threshold: 3584}}
	failed := decision(4, 5000)
	failed.Recommendation.Error = "nobody announced worker gpu0"
	e := Of(now, "gpu0", "jobs", []Decision{decision(1, 10), decision(2, 20), compiled, failed, failed}, Heard{})
	if e.State != "no plan" || e.Held != 1 || len(e.Changes) != 3 {
		t.Fatalf("%+v", e)
	}
	says(t, &e, "gpu0.jobs has no plan: nobody announced worker gpu0\n")
	for i, want := range []Change{
		{Number: 4, What: "no plan any more", Why: "no plan: nobody announced worker gpu0"},
		{Number: 3, What: "kernel interpreter → jit, most a launch 4,096 → 256", Why: "compiled: 5,000 slots, until below 3,584"},
		{Number: 1, What: "the first", Why: "interpreter: 10 slots, compiled from 4,096 on"},
	} {
		if got := e.Changes[i]; got.Number != want.Number || got.What != want.What || got.Why != want.Why {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func TestWhatToDoNext(t *testing.T) {
	no, yes, one := false, true, uint64(1)
	for _, c := range []struct {
		want  string
		heard Heard
		with  func(*Decision)
	}{
		{"nothing: the plan follows the load", Heard{Decided: &yes}, func(*Decision) {}},
		{"nobody decides for the queue now", Heard{Decided: &no}, func(*Decision) {}},
		{"publish a worker record", Heard{}, func(d *Decision) { d.Entry.Undecided, d.Recommendation.Error = true, "no device limits" }},
		{"see to what the reason says", Heard{}, func(d *Decision) { d.Recommendation.Error = "memory" }},
		{"has said nothing for 20 s, and 300 slots waited", Heard{}, func(d *Decision) {
			d.Entry.Records = decisionlog.Records{Incarnation: 1, SentNs: now.Add(-20 * time.Second).UnixNano()}
		}},
		{"see whether its publisher is alive, unless it reports only changes", Heard{}, func(d *Decision) {
			d.Entry.Request.QueueLen = 0
			d.Entry.Records = decisionlog.Records{Incarnation: 1, SentNs: now.Add(-20 * time.Second).UnixNano()}
		}},
		{"report launches", Heard{}, func(d *Decision) { d.Entry.Request.Unmeasured = true }},
		{"batches are in the stream, and the worker reports none", Heard{Stored: &one}, func(d *Decision) { d.Entry.Request.QueueLen = 0 }},
	} {
		d := decision(1, 300)
		c.with(&d)
		if e := Of(now, "w", "q", []Decision{d}, c.heard); !strings.Contains(e.Next, c.want) {
			t.Errorf("%q, want %q", e.Next, c.want)
		}
	}
}

// Whoever may store decisions chooses these texts, and what is in Memory.
func TestTextsOfOthersAreHarmless(t *testing.T) {
	const evil = "a\x1b[2J\u009bb\n"
	d := decision(1, 5)
	d.Memory = json.RawMessage(`{"cell":7}`)
	d.Software = evil
	d.Recommendation.Error = evil
	d.Recommendation.Reasons = []telemetry.Reason{{Rule: evil}}
	e := Of(now, "w", "q", []Decision{d}, Heard{By: evil})
	if text := strings.ReplaceAll(e.Text(), "\n", ""); strings.ContainsFunc(text, unicode.IsControl) {
		t.Errorf("%q", text)
	}
}

func TestWhereABatchIs(t *testing.T) {
	at := now.Add(-3 * time.Second)
	done := func(d telemetry.Done) Found { return Found{Ended: &Ended{At: at, Done: &d}} }
	stored := func(s Stored) Found {
		s.At = at
		return Found{Stored: &s, Cost: policy.Cost{LaunchNs: 10_000, SlotPs: 1_000_000}, Depth: 1000}
	}
	for _, c := range []struct {
		worker, state, says string
		found               Found
	}{
		{"w", "not submitted", "has taken none yet, of any queue", Found{}},
		{"w", "unknown", "nobody keeps done records here", Found{Past: &Past{Submitted: 1}}},
		{"w", "unknown", "none was removed since the stream of them was made 3 s ago\nnext: submit it if nobody did; else it did not arrive, or was refused", Found{Past: &Past{Submitted: 1, Kept: true, Since: at, Made: true}}},
		{"w", "unknown", "(3 s ago) are complete\nnext: if it was submitted after that, it did not arrive, or was refused", Found{Past: &Past{Submitted: 1, Kept: true, Since: at}}},
		{"w", "unknown", "if before, its record may have been removed: done records are kept for 24 h, the last 4,096 of a queue", Found{Past: &Past{Submitted: 1, Kept: true, Since: at, MaxAge: 24 * time.Hour, PerQueue: 4096}}},
		{"w", "done", "next: look at the slots that faulted", done(telemetry.Done{Executed: 7, Faulted: 1})},
		{"w", "withdrawn", "3 s ago: 0 slots executed, 0 faulted, 2 dropped", done(telemetry.Done{Dropped: 2, Error: "canceled"})},
		{"w", "expired", "next: submit it again with a longer --deadline", done(telemetry.Done{Dropped: 2, Error: "deadline"})},
		{"w", "dropped", "2 dropped: heap lost", done(telemetry.Done{Dropped: 2, Error: "heap lost"})},
		{"w", "dropped", "2 dropped: the worker gave no reason", done(telemetry.Done{Dropped: 2})},
		{"w", "waiting", "in the stream for 3 s, behind 2 batches with 2,500 slots, about 2.53 ms of device time\nnext: nothing: w takes it in turn", stored(Stored{Ahead: 2, AheadSlots: 2500, Served: true})},
		{"w", "waiting", "nobody takes batches of w\nnext: start `ringmaster run --worker w`", stored(Stored{})},
		{"pool.p", "waiting", "next: start `ringmaster run --pool p`", stored(Stored{})},
		{"pool.p", "held", "who has it does not say so", stored(Stored{Served: true, HandedOut: true})},
		{"w", "held", "worker w has had it for 3 s, delivery 2 of 20, and is the next of its queue", stored(Stored{Holder: &Holder{Taken: at, Deliveries: 2, MaxDeliveries: 20}})},
		{"w", "held", "delivery 2, and is", stored(Stored{Holder: &Holder{Taken: at, Deliveries: 2}})},
		{"w", "held", "it is begun when its queue has room", stored(Stored{Holder: &Holder{Taken: at, Held: true}})},
		{"w", "set aside", "`ringmaster work run 5` submits it again", Found{Aside: &Aside{Number: 5, At: at, Deliveries: 20}}},
	} {
		b := OfBatch(now, c.worker, "q", "b", c.found)
		if text := b.Text(); b.State != c.state || !strings.Contains(text, c.says) {
			t.Errorf("%s, want %s, in\n%s, want %q", b.State, c.state, text, c.says)
		}
	}
	evil := done(telemetry.Done{Dropped: 1, Error: "a\x1b[2J\n"})
	b := OfBatch(now, "w", "q", "b", evil)
	if text := strings.ReplaceAll(b.Text(), "\n", ""); strings.ContainsFunc(text, unicode.IsControl) {
		t.Errorf("%q", text)
	}
	huge := stored(Stored{Ahead: 1, AheadSlots: 1 << 40})
	huge.Cost = policy.Cost{LaunchNs: 1 << 63, SlotPs: 1 << 63}
	if b := OfBatch(now, "w", "q", "b", huge); b.AheadS <= 0 || b.AheadS > 400*24*3600 {
		t.Errorf("%v", b.AheadS)
	}
}

// A queue that nobody has reported for long is not taken for empty, whether somebody decides for it or not.
func TestASilentPublishersEmptyQueueIsNotKnownToBeEmpty(t *testing.T) {
	no := false
	d := decision(1, 0)
	d.Entry.Records = decisionlog.Records{Incarnation: 0xabc, Last: 3, SentNs: now.Add(-20 * time.Second).UnixNano()}
	const silent = "publisher 0000000000000abc silent for 20 s, its last record said the queue is empty"
	e := Of(now, "w", "q", []Decision{d}, Heard{})
	says(t, &e, "w.q is ok: "+silent, "sent 20 s ago; silent since")
	e = Of(now, "w", "q", []Decision{d}, Heard{Decided: &no})
	says(t, &e, "w.q is expired: "+silent, "next: nobody decides for the queue now")
	d.Entry.Records.SentNs = now.Add(-2 * time.Second).UnixNano()
	if e = Of(now, "w", "q", []Decision{d}, Heard{}); strings.Contains(e.Text(), "silent") {
		t.Error(e.Text())
	}
}

// The queue's record is of the last decision, the graph's of two before, launches were reported before all that is kept.
func TestEachValueHasTheAgeOfItsSource(t *testing.T) {
	var all []Decision
	for i, memory := range []string{
		`{"cell":{"sources":[{"incarnation":"1","seq":7},{"incarnation":"2","seq":3}],"history":{"launches":5}}}`,
		`{"cell":{"sources":[{"incarnation":"1","seq":8},{"incarnation":"2","seq":4}],"history":{"launches":5}}}`,
		`{"cell":{"sources":[{"incarnation":"1","seq":8},{"incarnation":"2","seq":4}],"history":{"launches":5}}}`,
		`{"cell":{"sources":[{"incarnation":"1","seq":9},{"incarnation":"2","seq":4}],"history":{"launches":5}}}`,
	} {
		d := decision(uint64(10+i), 300)
		d.At, d.Memory = now.Add(time.Duration(i-40)*time.Second), json.RawMessage(memory)
		d.Entry.Records = decisionlog.Records{Incarnation: 1, Last: uint64(9), SentNs: now.Add(-38 * time.Second).UnixNano()}
		d.Entry.Request.GraphNodeCount = 10
		d.Entry.Request.Cost = policy.Cost{SlotPs: 1000}
		all = append(all, d)
	}
	e := Of(now, "w", "q", all, Heard{})
	for what, want := range map[string]struct{ age, source string }{
		"waiting":        {"38 s", "record 9 of publisher 0000000000000001"},
		"graph":          {"39 s", "record 4 of publisher 0000000000000002"},
		"a launch takes": {"over 40 s", "5 launches of the queue"},
		"device":         {"–", "the worker's announcement"},
	} {
		i := slices.IndexFunc(e.Evidence, func(v Evidence) bool { return v.What == what })
		if i < 0 || e.Evidence[i].AgeText() != want.age || e.Evidence[i].Source != want.source {
			t.Errorf("%s: %+v, want %+v", what, e.Evidence, want)
		}
	}
	for i := range all {
		all[i].Memory, all[i].Entry.Records = nil, decisionlog.Records{}
	}
	e = Of(now, "w", "q", all, Heard{})
	if v := e.Evidence[0]; v.AgeText() != "37 s" || v.Source != "the worker itself" {
		t.Errorf("%+v", v)
	}
}

func TestACostIsToldInUnitsThatPeopleRead(t *testing.T) {
	for want, c := range map[string]policy.Cost{
		"45.2 ns a slot": {SlotPs: 45_200}, "3.18 µs a slot": {SlotPs: 3_180_000}, "12.0 µs and 2.00 ms a slot": {LaunchNs: 12_000, SlotPs: 2_000_000_000},
	} {
		if got := cost(c); got != want {
			t.Errorf("%+v is told as %q, want %q", c, got, want)
		}
	}
}
