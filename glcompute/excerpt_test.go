package glcompute

import (
	"strings"
	"testing"
)

const tenLines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

func TestExcerptFindsTheLineInEachDriversLog(t *testing.T) {
	want := "     3 | three\n" +
		"     4 | four\n" +
		">    5 | five\n" +
		"     6 | six\n" +
		"     7 | seven\n"
	for driver, log := range map[string]string{
		"mesa":   "0:5(12): error: `x' undeclared\n",
		"nvidia": "0(5) : error C1503: undefined variable \"x\"\n",
		"amd":    "ERROR: 0:5: 'x' : undeclared identifier\n",
	} {
		if got := excerpt(tenLines, log); got != want {
			t.Errorf("%s:\n%swant\n%s", driver, got, want)
		}
	}
}

func TestExcerptJoinsNeighboursAndMarksGaps(t *testing.T) {
	got := excerpt(tenLines, "0:9(1): error\n0:1(1): error\n0:2(1): warning\n0:1(7): error\n0:99(1): error\n")
	want := ">    1 | one\n" +
		">    2 | two\n" +
		"     3 | three\n" +
		"     4 | four\n" +
		"      ...\n" +
		"     7 | seven\n" +
		"     8 | eight\n" +
		">    9 | nine\n" +
		"    10 | ten\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestExcerptIsEmptyWithoutALine(t *testing.T) {
	for _, log := range []string{"", "link failed", "took 0:99 of the time", "0:0(0): error"} {
		if got := excerpt(tenLines, log); got != "" {
			t.Errorf("%q: %q", log, got)
		}
	}
	err := &CompileError{Stage: "link"}
	if got := err.Error(); !strings.Contains(got, "link") || !strings.Contains(got, "no log") {
		t.Errorf("error without a log: %q", got)
	}
}
