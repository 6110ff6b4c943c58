package decider

import (
	"testing"
	"time"

	"ringmaster/megakernel/policy"
)

var limits = policy.Limits{MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024}

func geometry(width, groups, chunk, depth uint32) policy.Geometry {
	return policy.Geometry{Width: width, Groups: groups, Chunk: chunk, Depth: depth}
}

func TestAGeometryFollowsTheRule(t *testing.T) {
	small := policy.Limits{MaxWorkgroupSizeX: 128, MaxWorkgroupsPerDimension: 4, MaxInvocationsPerWorkgroup: 64}
	for name, c := range map[string]struct {
		rule Rule
		in   Input
		want Choice
	}{
		"fixed":               {Fixed(geometry(64, 9, 64, 5000)), Input{Limits: limits}, Choice{Geometry: geometry(64, 9, 64, 5000), InFlight: 1}},
		"fixed, small device": {Fixed(geometry(256, 9, 256, 16)), Input{Limits: small}, Choice{Geometry: geometry(64, 4, 64, 64), InFlight: 1}},
		"fill":                {Fill(), Input{Limits: limits, Fit: 8}, Choice{Geometry: geometry(256, 8, 256, MostDepth), InFlight: 1}},
		"fill, nothing known": {Fill(), Input{Limits: limits}, Choice{Geometry: geometry(256, 1, 256, MostDepth), InFlight: 1}},
		"two launches":        {Fixed(geometry(64, 9, 64, 5000)), Input{Queue: 90_000, Limits: limits}, Choice{Geometry: geometry(64, 9, 64, 5000), InFlight: 2}},
		"batching":            {Batching(1024, time.Millisecond), Input{Limits: limits, Fit: 8}, Choice{Geometry: geometry(256, 8, 256, 1024), InFlight: 1, Hold: time.Millisecond}},
	} {
		if _, got := c.rule(State{}, c.in); got != c.want {
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
		{Launch{5, 110, 11 * time.Millisecond}, 256}, // the first of 99: no less than a group and what is added
	} {
		var got Choice
		s, got = rule(s, Input{Limits: limits, Fit: 8, Last: step.last})
		if got.Depth != max(step.want, Width) {
			t.Errorf("step %d: depth %d, want %d", i, got.Depth, max(step.want, Width))
		}
		if s.Depth > 300 || got.Hold != 0 {
			t.Errorf("step %d: %+v %+v", i, s, got)
		}
	}
	if s.Depth != 100 {
		t.Errorf("ends at %d", s.Depth)
	}
}
