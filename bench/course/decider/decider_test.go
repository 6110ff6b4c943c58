package decider

import (
	"testing"
	"time"

	"ringmaster/megakernel/fixed"
	"ringmaster/megakernel/policy"
)

var limits = policy.Limits{MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024, Units: 8, UnitLanes: 8}

func geometry(width, groups, chunk, depth uint32) policy.Geometry {
	return policy.Geometry{Width: width, Groups: groups, Chunk: chunk, Depth: depth}
}

func TestAGeometryFollowsTheRule(t *testing.T) {
	for name, c := range map[string]struct {
		rule Rule
		want Choice
	}{
		"fixed":    {Fixed(geometry(64, 9, 64, 5000)), Choice{Geometry: geometry(64, 9, 64, 5000)}},
		"fill":     {Fill(), Choice{Geometry: fixed.Fill(&limits)}},
		"batching": {Batching(1024, time.Millisecond), Choice{Geometry: geometry(256, 8, 256, 1024), Hold: time.Millisecond}},
	} {
		if _, got := c.rule(State{}, Input{Limits: limits}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestAIMDGrowsByAConstantAndShrinksByATenth(t *testing.T) {
	rule := AIMD(10*time.Millisecond, 100)
	var s State
	for i, step := range []struct {
		last Launch
		want uint32
	}{
		{Launch{}, 100},
		{Launch{1, 100, time.Millisecond}, 200},
		{Launch{1, 100, time.Millisecond}, 200}, // no launch since
		{Launch{2, 150, time.Millisecond}, 200}, // it was not full
		{Launch{3, 200, time.Millisecond}, 300},
		{Launch{4, 300, 11 * time.Millisecond}, 270},
		{Launch{5, 110, 11 * time.Millisecond}, 100}, // not 99: no less than what is added
	} {
		var got Choice
		s, got = rule(s, Input{Limits: limits, Last: step.last})
		if got.Depth != step.want {
			t.Errorf("step %d: depth %d, want %d", i, got.Depth, step.want)
		}
		if s.Depth > 300 || got.Hold != 0 {
			t.Errorf("step %d: %+v %+v", i, s, got)
		}
	}
	if s.Depth != 100 {
		t.Errorf("ends at %d", s.Depth)
	}
}
