package main

import (
	"strings"
	"testing"
	"unicode"

	"ringmaster/telemetry"
)

func TestBarStaysInsideItsCells(t *testing.T) {
	for _, done := range []float64{-1, 0, 0.5, 1, 2} {
		if got := bar(done, 10); len(got) != 12 {
			t.Errorf("bar(%v) = %q", done, got)
		}
	}
}

func TestScreenDrawsOverItsLastBlock(t *testing.T) {
	var out strings.Builder
	s := &screen{out: &out, terminal: true, width: 5}
	s.draw("one\ntwo\n")
	s.draw("a line too long for the terminal\n")
	got := out.String()
	if !strings.Contains(got, "\x1b[2A") {
		t.Errorf("second draw does not move up over the two lines of the first: %q", got)
	}
	if strings.Contains(got, "a line") && !strings.Contains(got, "a lin\x1b[K") {
		t.Errorf("line not cut at the terminal's width: %q", got)
	}
}

func TestScreenPrintsNothingInPlaceWithoutATerminal(t *testing.T) {
	var out strings.Builder
	s := newScreen(&out)
	s.draw("one\n")
	s.note("two %d", 3)
	if out.String() != "two 3\n" {
		t.Errorf("got %q", out.String())
	}
}

// Whoever may publish under a worker's name chooses these texts.
func TestTextsFromTheBusDoNotReachTheTerminalAsCommands(t *testing.T) {
	const evil = "a\x1b]0;b\x07\u009bc\rd\n"
	r := telemetry.Recommendation{Error: evil, Topology: evil, ExecutionMode: evil}
	texts := append(planCells("q", &r), describe(&r))
	r.Error = ""
	texts = append(append(texts, planCells("q", &r)...), describe(&r))
	for _, text := range texts {
		if strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("%q", text)
		}
	}
	var err strings.Builder
	s := submission{std: stdio{err: &err}}
	s.show(&slotGroup{opcode: "nop"}, &telemetry.Done{Dropped: 1, Error: evil}, nil)
	if !strings.Contains(err.String(), "dropped: a\ufffd") || strings.Contains(err.String(), "\x1b") {
		t.Errorf("%q", err.String())
	}
}
