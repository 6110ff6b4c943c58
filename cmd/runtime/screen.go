package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"ringmaster/cmd/runtime/text"

	"golang.org/x/term"
)

// screen shows a block of lines that is redrawn in place on a terminal. Anywhere
// else it prints only the lines given to note.
type screen struct {
	out      io.Writer
	terminal bool
	width    int
	drawn    int
}

func newScreen(out io.Writer) *screen {
	s := &screen{out: out, width: 120}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.terminal = true
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			s.width = w
		}
	}
	return s
}

// draw replaces the block. Lines are cut at the terminal's width, because a
// wrapped line would make the block taller than the count of its lines.
func (s *screen) draw(block string) {
	if !s.terminal {
		return
	}
	var b bytes.Buffer
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.drawn)
	}
	s.drawn = 0
	for line := range strings.Lines(block) {
		runes := []rune(strings.TrimRight(line, "\n"))
		b.WriteString(string(runes[:min(len(runes), s.width)]))
		b.WriteString("\x1b[K\n")
		s.drawn++
	}
	b.WriteString("\x1b[J")
	s.out.Write(b.Bytes())
}

// note prints a line that stays. The next block is drawn below it.
func (s *screen) note(format string, args ...any) {
	fmt.Fprintf(s.out, format+"\n", args...)
	s.drawn = 0
}

// bar is a progress bar of the given number of cells.
func bar(done float64, cells int) string {
	done = min(max(done, 0), 1)
	full := int(done * float64(cells))
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", cells-full) + "]"
}

// Short names of what most commands print with.
var (
	table      = text.Table
	plain      = text.Plain
	plainLines = text.PlainLines
)

func grouped[T ~int | ~int64 | ~uint32 | ~uint64](n T) string { return text.Grouped(n) }
