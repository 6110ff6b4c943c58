package actors

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/decisionlog"
)

// aMessage is the last message of a course of decisions.
func aMessage(t testing.TB) *telemetry.Stored {
	store := newMemoryStore()
	cfg := DefaultConfig()
	cfg.Incarnation, cfg.Store = 99, store
	s, err := New(cfg, newCountingPublisher())
	must(t, err)
	defer s.Close()
	stored := make(chan *telemetry.Stored, 16)
	store.listener = func(_, _ string, m *telemetry.Stored) { stored <- m }
	for _, r := range []*telemetry.Record{queueRecord(7, 1, 500), graphRecord(7, 2, 10_000), queueRecord(7, 3, 900)} {
		must(t, s.Ingest("gpu1", "q", r, time.Now(), ""))
		<-stored
	}
	return store.queues["gpu1.q"][2]
}

// reader is a queue that reads messages.
func reader(t testing.TB) *family {
	cfg := DefaultConfig()
	cfg.Incarnation = 100
	s, err := New(cfg, newCountingPublisher())
	must(t, err)
	t.Cleanup(s.Close)
	must(t, s.introduce("gpu1", "q", false))
	return s.roster[0]
}

// changed returns a message with what its text is to have in place of, or beside, what it has.
func changed(t testing.TB, m *telemetry.Stored, change string) *telemetry.Stored {
	t.Helper()
	var text, patch map[string]any
	must(t, errors.Join(json.Unmarshal(m.Recommendation.Decided, &text), json.Unmarshal([]byte(change), &patch)))
	b, err := json.Marshal(merged(map[string]any(text), map[string]any(patch)))
	must(t, err)
	other := *m
	other.Recommendation.Decided = b
	return &other
}

// merged lays one tree over another.
func merged(under, over any) any {
	u, ok := under.(map[string]any)
	o, both := over.(map[string]any)
	if !ok || !both {
		return over
	}
	for key, value := range o {
		u[key] = merged(u[key], value)
	}
	return u
}

func TestWhatNoProcessCanHaveWrittenIsRefused(t *testing.T) {
	m, f := aMessage(t), reader(t)
	if _, err := f.read(m); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]string{
		"another queue":           `{"entry":{"queue":"r"}}`,
		"another worker":          `{"entry":{"worker":"gpu2"}}`,
		"another decision":        `{"entry":{"decision":4}}`,
		"more reasons than fit":   `{"entry":{"plan":{"reason_count":10}}}`,
		"too many in flight":      `{"entry":{"plan":{"in_flight":200}}}`,
		"no memory":               `{"memory":7}`,
		"a stage ahead":           `{"memory":{"topology":{"newest":4}}}`,
		"a commit ahead":          `{"memory":{"plan":{"committed":{"decision":9}}}}`,
		"runs that overlap":       `{"memory":{"recent":[{"first":1,"last":2},{"first":2,"last":3}]}}`,
		"a run that ends early":   `{"memory":{"recent":[{"first":2,"last":1}]}}`,
		"a run ahead":             `{"memory":{"recent":[{"first":1,"last":4}]}}`,
		"more launches":           `{"memory":{"cell":{"outcomes":[` + numbered(maxOutcomes+1, `{"seq":%d}`) + `]}}}`,
		"a topology of no kind":   `{"memory":{"topology":{"issued":{"state":{"topology":"x"}}}}}`,
		"costs of no kind":        `{"memory":{"cell":{"history":{"wave":9}}}}`,
		"records that are broken": `{"memory":{"cell":{"said":"kkk="}}}`,
	} {
		if left, err := f.read(changed(t, m, change)); err == nil {
			t.Errorf("%s: %+v", name, left.memory)
		}
	}
	m.Recommendation.Decision = 100
	for n, fits := range map[int]bool{carriedRuns: true, carriedRuns + 1: false} {
		runs := changed(t, m, `{"entry":{"decision":100},"memory":{"recent":[`+numbered(n, `{"first":%d,"last":%[1]d}`)+`]}}`)
		if _, err := f.read(runs); (err == nil) != fits {
			t.Errorf("%d runs of decisions: %v", n, err)
		}
	}
}

// numbered is one to n, each in a text.
func numbered(n int, text string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(text, i+1)
	}
	return strings.Join(parts, ",")
}

// What one process writes is what another reads, and writes again.
func TestMemoryIsCarriedWhole(t *testing.T) {
	m, f := aMessage(t), reader(t)
	left, err := f.read(m)
	must(t, err)
	again, err := json.Marshal(&left.memory)
	if err != nil || string(again) != string(left.decided.Memory) {
		t.Errorf("%v\n%s\n%s", err, again, left.decided.Memory)
	}
	if n := len(m.Recommendation.Decided); n > 4<<10 {
		t.Errorf("a message of %d bytes", n)
	}
}

// A launch that was reported and not settled when a decision was made settles behind it.
func TestLaunchesThatWereNotSettledAreSettled(t *testing.T) {
	m := changed(t, aMessage(t), `{"memory":{"topology":{"issued":{"state":{"topology":"dense_frontier"},"decision":3},"newest":3},"recent":[{"first":3,"last":3}]}}`)
	failed := changed(t, m, `{"memory":{"cell":{"outcomes":[{"seq":1,"launch":1,"decision":3}]}}}`)
	for want, m := range map[policy.Topology]*telemetry.Stored{policy.TopologyDense: m, policy.TopologyNone: failed} {
		f := reader(t)
		left, err := f.read(m)
		must(t, err)
		f.queue.adopt(m, left) // the actor has no message
		if got := f.queue.topology.Issued.State.Topology; got != want {
			t.Errorf("%v is issued, want %v", got, want)
		}
	}
	c := new(cell)
	c.carried = true
	mustFold(t, c, queueRecord(7, 1, 500))
	mustFold(t, c, &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindLaunch, Incarnation: 5, Seq: 1}, Launch: telemetry.Launch{Launch: 1, Decision: 3}})
	if v := taken(t, c); len(v.memory.Outcomes) != 1 {
		t.Errorf("%+v", v.memory.Outcomes)
	}
}

// A message that is damaged is written over, by the next number.
func TestADamagedMessageIsWrittenOver(t *testing.T) {
	for name, change := range map[string]string{"memory": `{"memory":7}`, "decision": `{"entry":{"decision":2}}`, "all": ""} {
		m := aMessage(t)
		broken := &telemetry.Stored{Sequence: 3, Recommendation: m.Recommendation}
		if broken.Recommendation.Decided = []byte("{"); change != "" {
			broken = changed(t, m, change)
		}
		synctest.Test(t, func(t *testing.T) {
			store := newMemoryStore()
			store.sequence, store.queues["gpu1.q"] = 3, []*telemetry.Stored{broken}
			s := process(t, store, 100, nil)
			defer s.Close()
			store.boot(t, s)
			announce(t, s, 1)
			must(t, s.Ingest("gpu1", "q", queueLength(9), time.Now(), ""))
			synctest.Wait()
			all := store.queues["gpu1.q"]
			if len(all) != 2 {
				t.Fatalf("%s: %d messages", name, len(all))
			}
			d, err := decisionlog.DecodeDecided(all[1].Recommendation.Decided)
			if err != nil || d.Entry.Decision != 4 || !d.Rejoined || d.Previous != 3 {
				t.Errorf("%s: %+v, %v", name, d, err)
			}
		})
	}
}

func FuzzMessageOfTheStore(f *testing.F) {
	m, q := aMessage(f), reader(f)
	f.Add([]byte(m.Recommendation.Decided))
	f.Add([]byte(changed(f, m, `{"memory":{"recent":[{"first":1,"last":2}]}}`).Recommendation.Decided))
	now := time.Now()
	f.Fuzz(func(t *testing.T, b []byte) {
		stored := *m
		stored.Recommendation.Decided = b
		left, err := q.read(&stored)
		if err != nil {
			return
		}
		if len(left.memory.Recent) > carriedRuns {
			t.Fatalf("%d runs", len(left.memory.Recent))
		}
		q.recommendation(left.decision(&stored))
		var c cell
		c.recall(&left.memory.Cell, &left.said, now)
	})
}

// What is stored is written by one JSON package and read by another.
func TestEveryFieldOfAMemoryComesBack(t *testing.T) {
	var m, got memory
	fill(reflect.ValueOf(&m).Elem())
	must(t, m.Cell.History.Take(policy.WayLeased, 100, 5000))
	text, err := json.Marshal(&m)
	must(t, err)
	must(t, (&decisionlog.Decided{Memory: text}).Recall(&got))
	if again, err := json.Marshal(&got); err != nil || !reflect.DeepEqual(got.Cell.Outcomes, m.Cell.Outcomes) || string(again) != string(text) {
		t.Errorf("%s came back as\n%s, %v", text, again, err)
	}
}

// fill gives every field that JSON has a value that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				fill(v.Field(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("ä<")
	case reflect.Int, reflect.Int64:
		v.SetInt(-1)
	case reflect.Float64:
		v.SetFloat(.5)
	default:
		v.SetUint(1)
	}
}
