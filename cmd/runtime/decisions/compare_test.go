package decisions

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/decisionlog"
)

// lengths are the decisions of the standard policy on these queue lengths, ten milliseconds apart.
func lengths(list ...uint32) (entries []decisionlog.Entry) {
	cfg := policy.Standard()
	var state policy.State
	for i, n := range list {
		e := decisionlog.Entry{Worker: "w", Queue: "q", Decision: uint64(i + 1), Before: state,
			Records: decisionlog.Records{Incarnation: 9, First: uint64(i + 1), Last: uint64(i + 1), SentNs: int64(1+i) * 10e6}}
		e.Request.QueueLen = n
		e.Request.Limits = policy.Limits{MaxWorkgroupSizeX: 256, MaxWorkgroupsPerDimension: 1024, MaxInvocationsPerWorkgroup: 256, SubgroupSize: 32}
		e = decideAgain(&cfg, &e, state)
		state = e.After
		entries = append(entries, e)
	}
	return entries
}

func comparison(t *testing.T, entries []decisionlog.Entry, other policy.Config) *Comparison {
	t.Helper()
	log := FromFile(writeLog(t, entries...), nil)
	defer log.Close()
	c, err := Compare(log, "mine", other)
	must(t, err)
	return c
}

func TestComparisonNamesTheFirstDivergenceItsRulesAndTheTime(t *testing.T) {
	other := policy.Standard()
	other.JITQueueLenThreshold = 8_192
	c := comparison(t, lengths(100, 100, 9_000, 9_000, 20_000, 20_000), other)
	q := c.Queues[0]
	if c.Different != 2 || q.First == nil || q.First.Decision != 3 || q.First.First != 3 || q.First.Publisher != 9 || !q.First.Sent.Equal(time.Unix(0, 30e6)) {
		t.Fatalf("%d differ, the first %+v", c.Different, q.First)
	}
	if want := []Contrast{{"kernel", "jit", "interpreter"}}; len(q.First.Launches) != 1 || q.First.Launches[0] != want[0] {
		t.Errorf("launches %+v", q.First.Launches)
	}
	if w := q.First.Why; len(w) < 2 || !strings.Contains(w[0].Logged, "mode_queue_len: value 9000") || !strings.Contains(w[0].Other, "threshold 8192") || w[1].What != "state plan.mode" {
		t.Errorf("why %+v", w)
	}
	if q.Logged.Kernel["jit"] != 30*time.Millisecond || q.Other.Kernel["jit"] != 10*time.Millisecond || q.Logged.Launch["wave"] != 50*time.Millisecond {
		t.Errorf("logged %v, other %v", q.Logged, q.Other)
	}
	for _, want := range []string{"first at decision 3, on records 3 to 3", "WHY", "kernel jit          0.030 s  0.010 s"} {
		if !strings.Contains(c.String(), want) {
			t.Errorf("want %q in\n%s", want, c)
		}
	}
	var back map[string]any
	if text, err := json.Marshal(c); err != nil || json.Unmarshal(text, &back) != nil || !strings.Contains(string(text), `"publisher":"0000000000000009"`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestSamePolicyIsNoDifference(t *testing.T) {
	c := comparison(t, lengths(100, 9_000, 0, 7, 100_000), policy.Standard())
	if q := c.Queues[0]; c.Different != 0 || q.First != nil || q.Logged.Changes != q.Other.Changes || q.Logged.Changes == 0 || !c.Whole {
		t.Errorf("%+v", c)
	}
}

// A change of the plan in the eyes of one policy only is counted on its side.
func TestChangesAreCountedOnTheirSide(t *testing.T) {
	other := policy.Standard()
	other.JITQueueLenThreshold = 1 << 30
	entries := lengths(100_000, 100_000, 100_000)
	for i := range entries {
		entries[i].Plan.Mode = policy.Mode(i % 2)
	}
	q := comparison(t, entries, other).Queues[0]
	if q.Logged.Changes != 2 || q.Other.Changes != 0 {
		t.Errorf("%d and %d changes", q.Logged.Changes, q.Other.Changes)
	}
}

func TestTimeAcrossAHoleOrAnotherClockIsNotCounted(t *testing.T) {
	all := lengths(1, 2, 3, 4, 5, 6)
	hole := append(all[:2:2], all[3:]...)
	hole[3].Records.Incarnation = 10
	hole[4].Records.Incarnation = 10
	hole[4].Records.SentNs = 1 // the clock was set back
	q := comparison(t, hole, policy.Standard()).Queues[0]
	if q.Unplaced != 3 || q.Logged.Launch["wave"] != 10*time.Millisecond {
		t.Errorf("%d without a time, %v", q.Unplaced, q.Logged.Launch)
	}
}

func TestDecisionsWithoutAPlanAreTimeWithoutOne(t *testing.T) {
	entries := lengths(5, 5, 5)
	entries[1].Plan, entries[1].After, entries[1].Error = policy.Recommendation{}, entries[1].Before, "no"
	entries[2].Before = entries[1].After
	q := comparison(t, entries, policy.Standard()).Queues[0]
	if q.Logged.Kernel["no plan"] != 10*time.Millisecond || q.Other.Kernel["no plan"] != 0 || q.Different != 1 || q.First.Launches[0].Logged != "no" {
		t.Errorf("%+v, first %+v", q, q.First)
	}
}

func TestNothingToCompareIsAnError(t *testing.T) {
	log := FromFile(writeLog(t), nil)
	defer log.Close()
	if _, err := Compare(log, "mine", policy.Standard()); err == nil || !strings.Contains(err.Error(), "no decisions to compare") {
		t.Error(err)
	}
}
