package telemetry

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"ringmaster/megakernel/policy"
)

// readLog reads a log to its end and returns the numbers of the decisions and
// the damage on the way.
func readLog(t testing.TB, log []byte) (decisions []uint64, damage []*DecisionError, unknown []string) {
	t.Helper()
	d := NewDecisionReader(bytes.NewReader(log))
	for {
		e := new(DecisionEntry)
		err := d.Next(e)
		var bad *DecisionError
		switch {
		case err == io.EOF:
			return decisions, damage, d.Unknown()
		case errors.As(err, &bad):
			damage = append(damage, bad)
		case err != nil:
			t.Fatal(err)
		default:
			decisions = append(decisions, e.Decision)
		}
		if len(damage) > 100 {
			t.Fatal("the reader does not come to an end")
		}
	}
}

func TestDamageAtAnyByteIsSurvivedAndLocated(t *testing.T) {
	log := append(sampleLog(3), sampleLog(2)...)
	first, second := len(sampleLog(1)), len(sampleLog(3)) // end of the first decision, begin of the second section
	clean, _, _ := readLog(t, log)
	if len(clean) != 5 {
		t.Fatalf("%d decisions", len(clean))
	}
	for at := range log {
		for _, b := range []byte{0x00, 0xc1, 0xdb, 0xff, log[at] ^ 1} {
			bad := bytes.Clone(log)
			bad[at] = b
			decisions, damage, _ := readLog(t, bad)
			for _, e := range damage {
				if e.Offset > int64(at) || e.Error() == "" {
					t.Fatalf("byte %d changed to %#x: error %v", at, b, e)
				}
			}
			if bad[at] == log[at] {
				continue
			}
			if len(damage) != 1 {
				t.Fatalf("byte %d changed to %#x: damage %v", at, b, damage)
			}
			if at >= first && (len(decisions) == 0 || decisions[0] != 1) {
				t.Fatalf("byte %d changed to %#x: the decision before it is lost", at, b)
			}
			if at < second && (len(decisions) < 2 || decisions[len(decisions)-1] != 2) {
				t.Fatalf("byte %d changed to %#x: the section after it is lost: %v", at, b, decisions)
			}
		}
	}
}

func TestTruncatedLogKeepsWhatIsWhole(t *testing.T) {
	log := sampleLog(2)
	header, one := len(sampleLog(0)), len(sampleLog(1))
	for n := range log {
		decisions, damage, _ := readLog(t, log[:n])
		whole := 0
		if n >= one {
			whole = 1
		}
		torn := n != 0 && n != header && n != one
		if len(decisions) != whole || (len(damage) == 1) != torn {
			t.Fatalf("%d of %d bytes: decisions %v, damage %v", n, len(log), decisions, damage)
		}
		if torn && n > one && (damage[0].Offset != int64(one) || damage[0].Entry != 1) {
			t.Fatalf("%d bytes: %+v, want the damage at %d after 1 entry", n, damage[0], one)
		}
	}
	// A process that died while it wrote, and the next one.
	decisions, damage, _ := readLog(t, append(log[:len(log)-5], sampleLog(3)...))
	if len(decisions) != 4 || len(damage) != 1 {
		t.Errorf("decisions %v, damage %v", decisions, damage)
	}
}

// summed is a value of a log with whatever body.
func summed(key string, body []byte) []byte {
	v := append([]byte(decisionMap+wireKey(key)), body...)
	sum := crc32.Checksum(v, castagnoli)
	v = append(v, decisionSumMark...)
	return binary.BigEndian.AppendUint32(append(v, codeUint32), sum)
}

func TestWhatDoesNotBelongInALogIsNamed(t *testing.T) {
	value := func(key, body string) []byte {
		log := summed(key, literal(t, body))
		if key == decisionEntryKey {
			log = append(sampleLog(0), log...)
		}
		return log
	}
	for name, c := range map[string]struct {
		log   []byte
		words string
	}{
		"a decision before any header": {AppendDecision(nil, logEntry(1)), "without a header"},
		"another format":               {value(decisionHeaderKey, "81 a6'format' 02"), "unknown format 2"},
		"a policy that cannot decide":  {value(decisionHeaderKey, "81 a6'format' 01"), "min hit capacity"},
		"a header that is a list":      {value(decisionHeaderKey, "90"), "header: got an array of 0, want a map"},
		"a record of the wire":         {queuePayload(), "want a map of two"},
		"a key that is no text":        {literal(t, "82 01 01 01 01"), "want a key"},
		"a number that is too large":   {value("decision", "81 a6'before' 81 a4'plan' 81 a6'groups' cf0000000100000000"), "before.plan.groups: out of range"},
		"a negative number":            {value("decision", "81 a8'decision' ff"), "decision: got a negative integer"},
		"a float":                      {value("decision", "81 a8'decision' cb3ff0000000000000"), "decision: got the float 1"},
		"a text for a bool":            {value("decision", "81 a9'undecided' a3'yes'"), "undecided: got a string"},
		"an unknown name":              {value("decision", "81 a4'plan' 81 a4'mode' a3'abc'"), `plan.mode: "abc"`},
		"too long a list":              {value("decision", "81 a4'plan' 81 ad'dispatch_grid' 94 01 01 01 01"), "plan.dispatch_grid: out of range, want a list of at most 3"},
		"a wrong element":              {value("decision", "81 a4'plan' 81 a7'reasons' 92 80 81 a4'held' 05"), "plan.reasons[1].held: got the integer 5"},
		"a key twice":                  {value("decision", "82 a6'worker' a1'w' a6'worker' a1'w'"), "worker: the key occurs twice"},
		"bad text":                     {value("decision", "81 a5'error' a1 ff"), "error: out of range, want UTF-8"},
		"a worker that is no token":    {value("decision", "82 a6'worker' a1'.' a5'queue' a1'q'"), "not both tokens"},
		"a value that is too long":     {value("decision", "81 a1'x' c60000ffff"+strings.Repeat("00", 0xffff)), "longer than 16384 bytes"},
		"an extension":                 {value("x", "d4 01 02"), "damaged"},
		"a wrong sum":                  {append(sampleLog(0), literal(t, "82 a8'decision' 80 a6'crc32c' 01")...), "sum"},
	} {
		_, damage, _ := readLog(t, c.log)
		if len(damage) != 1 || !strings.Contains(damage[0].Error(), c.words) {
			t.Errorf("%s: damage %v, want %q", name, damage, c.words)
		}
	}
}

func queuePayload() []byte {
	return AppendQueue(nil, FormMap, &Header{Incarnation: 1, Seq: 1}, &Queue{Has: HasQueueLen})
}

func TestUnknownKeysAreSteppedOverAndRemembered(t *testing.T) {
	log := append(sampleLog(0), summed("note", literal(t, "92 01 81 a1'x' c0"))...)
	log = append(log, summed("decision", literal(t, `85
		a6'worker' a1'w' a5'queue' a1'q'
		a5'extra' 82 01 02 03 90
		a6'before' 81 a4'plan' 82 a5'depth' 07 a6'groups' cd0005
		a5'error' c0`))...)
	decisions, damage, unknown := readLog(t, log)
	if len(decisions) != 1 || len(damage) != 0 {
		t.Fatalf("decisions %v, damage %v", decisions, damage)
	}
	if got := strings.Join(unknown, " "); got != "before.plan.depth extra note" {
		t.Errorf("unknown fields %q", got)
	}
}

func FuzzDecisionLog(f *testing.F) {
	body := func(value []byte) []byte { // without key and sum
		at := bytes.Index(value, []byte(decisionEntryMark)) + len(decisionEntryMark)
		return value[at:bytes.LastIndex(value, []byte(decisionSumMark))]
	}
	// Long seeds slow the fuzzer down; the header is put before each log below.
	small := &DecisionEntry{Worker: "w", Queue: "q", Decision: 1, Undecided: true, Error: "no"}
	f.Add(AppendDecision(nil, small), body(AppendDecision(nil, small)))
	small.Plan.DispatchGrid, small.Plan.Reasons[0] = [3]uint32{7, 1, 1}, policy.Reason{Rule: policy.RuleDense, Held: true, Value: 1 << 40}
	f.Add(AppendDecision(nil, small)[:60], body(AppendDecision(nil, small)))
	f.Fuzz(func(t *testing.T, log, entry []byte) {
		// The sum would keep nearly every input away from the decoder.
		log = append(append(sampleLog(0), summed(decisionEntryKey, entry)...), log...)
		d := NewDecisionReader(bytes.NewReader(log))
		for {
			var e DecisionEntry
			err := d.Next(&e)
			if err == io.EOF {
				return
			}
			var damage *DecisionError
			if err != nil && !errors.As(err, &damage) {
				t.Fatal(err)
			}
			if err != nil {
				continue
			}
			// What was read is written and read again as it is.
			again := NewDecisionReader(bytes.NewReader(AppendDecision(AppendDecisionHeader(nil, d.Header()), &e)))
			var same DecisionEntry
			if err := again.Next(&same); err != nil || same != e {
				t.Fatalf("%v: %v", err, DiffDecisions(&e, &same))
			}
		}
	})
}
