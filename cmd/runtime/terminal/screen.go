package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Screen shows a block of lines that is redrawn in place on a terminal. Anywhere
// else it prints only the lines given to Note.
type Screen struct {
	Out      io.Writer
	Terminal bool // what it writes to is one
	Width    int
	drawn    int
}

// NewScreen is a screen of a terminal's width, if out is one.
func NewScreen(out io.Writer) *Screen {
	s := &Screen{Out: out, Width: 120}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.Terminal = true
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			s.Width = w
		}
	}
	return s
}

// Draw replaces the block. Lines are cut at the terminal's width, because a
// wrapped line would make the block taller than the count of its lines.
func (s *Screen) Draw(block string) {
	if !s.Terminal {
		return
	}
	var b bytes.Buffer
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.drawn)
	}
	s.drawn = 0
	for line := range strings.Lines(block) {
		runes := []rune(strings.TrimRight(line, "\n"))
		b.WriteString(string(runes[:min(len(runes), s.Width)]))
		b.WriteString("\x1b[K\n")
		s.drawn++
	}
	b.WriteString("\x1b[J")
	s.Out.Write(b.Bytes())
}

// Note prints a line that stays. The next block is drawn below it.
func (s *Screen) Note(format string, args ...any) {
	fmt.Fprintf(s.Out, format+"\n", args...)
	s.drawn = 0
}

// Bar is a progress bar of the given number of cells.
func Bar(done float64, cells int) string {
	done = min(max(done, 0), 1)
	full := int(done * float64(cells))
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", cells-full) + "]"
}
