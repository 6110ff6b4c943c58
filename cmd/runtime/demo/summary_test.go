package demo

import (
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
