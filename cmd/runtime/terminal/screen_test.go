package terminal

import (
	"strings"
	"testing"
)

func TestBarStaysInsideItsCells(t *testing.T) {
	for _, done := range []float64{-1, 0, 0.5, 1, 2} {
		if got := Bar(done, 10); len(got) != 12 {
			t.Errorf("Bar(%v) = %q", done, got)
		}
	}
}

func TestScreenDrawsOverItsLastBlock(t *testing.T) {
	var out strings.Builder
	s := &Screen{Out: &out, Terminal: true, Width: 5}
	s.Draw("one\ntwo\n")
	s.Draw("a line too long for the terminal\n")
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
	s := NewScreen(&out)
	s.Draw("one\n")
	s.Note("two %d", 3)
	if out.String() != "two 3\n" {
		t.Errorf("got %q", out.String())
	}
}
