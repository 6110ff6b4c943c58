package main

import (
	"strings"
	"testing"
	"time"
)

// The goals' list is for a machine that is lent for half an hour, of which some is spent on the way.
func TestTheGoalsTakeTwentyFiveMinutes(t *testing.T) {
	f := courseFlags{CourseGoals: true, CourseSeed: 1, CourseMixes: 1}
	cfg, err := f.config()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Fit = 1
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
	if p := cfg.Plan(); p.Takes > 24*time.Minute || p.Cells != 423 || cfg.Rounds != 3 {
		t.Errorf("%d rounds, %v", cfg.Rounds, p)
	}
}

func TestTheGoalsHaveTheirOwnLoads(t *testing.T) {
	for _, flag := range []string{"--course-load=urgent", "--course-decider=off", "--course-rate=0.9"} {
		if got := bench(t, "course", "--course-goals", flag); got.code != 1 || got.stdout != "" || !strings.Contains(got.err, "--course-goals") {
			t.Errorf("%s: %+v", flag, got)
		}
	}
}
