package main

import (
	"strings"
	"testing"
)

func TestSummaryThatDoesNotAddUpFails(t *testing.T) {
	good := summary{SlotsSubmitted: 10, SlotsExecuted: 9, SlotsFaulted: 1, TokensGenerated: 5, TokensCounted: 5, Topologies: []string{"a", "b", "c"}}
	if problems := good.problems(); len(problems) != 0 {
		t.Errorf("a summary that adds up has problems %v", problems)
	}
	for want, spoil := range map[string]func(*summary){
		"slots submitted": func(s *summary) { s.SlotsExecuted-- },
		"tokens":          func(s *summary) { s.TokensCounted++ },
		"topologies":      func(s *summary) { s.Topologies = s.Topologies[:2] },
		"geometry":        func(s *summary) { s.LaunchesAdjusted = map[string]uint64{"": 1} },
	} {
		bad := good
		spoil(&bad)
		problems := bad.problems()
		if len(problems) != 1 || !strings.Contains(problems[0], want) {
			t.Errorf("problems %v, want one about %s", problems, want)
		}
		var c demoCmd
		var out, messages strings.Builder
		if err := c.report(stdio{out: &out, err: &messages}, &bad); err != (exitError{1}) {
			t.Errorf("%s: error %v, want exit code 1", want, err)
		}
	}
}
