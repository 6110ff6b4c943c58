package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

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

// plain is text from the bus or a file without the control characters that a terminal would obey.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// plainLines is plain, but keeps line feeds and tabs, which compilers' messages contain.
func plainLines(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// wrap breaks text at blanks, so that no line has more characters than width unless a single
// word has, and begins every line but the first with indent blanks.
func wrap(text string, indent, width int) string {
	var b strings.Builder
	used := 0
	for i, word := range strings.Split(text, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			used = indent
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}

// bar is a progress bar of the given number of cells.
func bar(done float64, cells int) string {
	done = min(max(done, 0), 1)
	full := int(done * float64(cells))
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", cells-full) + "]"
}

// grouped prints an integer with thousands separators.
func grouped[T ~int | ~int64 | ~uint32 | ~uint64](n T) string {
	digits := fmt.Sprint(n)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
