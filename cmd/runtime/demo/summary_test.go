package demo

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSummaryThatDoesNotAddUpFails(t *testing.T) {
	good := Summary{SlotsSubmitted: 10, SlotsExecuted: 9, SlotsFaulted: 1, TokensGenerated: 5, TokensCounted: 5, Topologies: []string{"a", "b", "c"}}
	if problems := good.Problems(); len(problems) != 0 {
		t.Errorf("a summary that adds up has problems %v", problems)
	}
	for want, spoil := range map[string]func(*Summary){
		"slots submitted": func(s *Summary) { s.SlotsExecuted-- },
		"tokens":          func(s *Summary) { s.TokensCounted++ },
		"topologies":      func(s *Summary) { s.Topologies = s.Topologies[:2] },
		"geometry":        func(s *Summary) { s.LaunchesAdjusted = map[string]uint64{"": 1} },
	} {
		bad := good
		spoil(&bad)
		problems := bad.Problems()
		if len(problems) != 1 || !strings.Contains(problems[0], want) {
			t.Errorf("problems %v, want one about %s", problems, want)
		}
	}
}

func TestReasonsOfManyKernelsAreOne(t *testing.T) {
	for reason, want := range map[string]string{
		"kernel fused-64-128-4: still being built": "kernel: still being built",
		"kernel interpreter-32: still being built": "kernel: still being built",
		"width 9: the device's bound is 8":         "width 9: the device's bound is 8",
		"":                                         "",
	} {
		if got := adjustedBecause(reason); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
}

func TestAComparisonIsPartOfTheSummary(t *testing.T) {
	c := Comparison{
		Turns: 5, Seconds: 60, Fixed: "256×1056",
		With:    Side{Batches: 9, Submit: Quantiles{P50: 1234, P99: 5678}, Device: 0.081},
		Without: Side{Batches: 9, Submit: Quantiles{P50: 2345, P99: 6789}, Device: 0.1},
	}
	want := "decided / always 256×1056 submit → done p50 1,234 / 2,345 µs, p99 5,678 / 6,789\n" +
		"                          µs, device 8 / 10 % busy: the same 5m of the trace, by\n" +
		"                          turns\n"
	if got := c.Text(); got != want {
		t.Errorf("%s", got)
	}
	line, err := json.Marshal(Summary{Comparison: &c})
	if err != nil || !strings.Contains(string(line), `"comparison":{"turns":5,"trace_seconds":60,"fixed_geometry":"256×1056","with":{"batches":9,"submit_to_done_us":{`) {
		t.Errorf("%v: %s", err, line)
	}
	if line, _ := json.Marshal(Summary{}); strings.Contains(string(line), "comparison") {
		t.Errorf("a comparison that there was not: %s", line)
	}
}
