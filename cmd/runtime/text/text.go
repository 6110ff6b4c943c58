package text

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Plain is text from the bus or a file without the control characters that a terminal would obey.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// PlainLines is Plain, but keeps line feeds and tabs, which compilers' messages contain.
func PlainLines(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// PlainWriter writes what it is given without the control characters that a terminal would obey,
// line feeds and tabs excepted. Each call of Write has whole characters, as those of package fmt have.
type PlainWriter struct{ To io.Writer }

func (w PlainWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.To, PlainLines(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// JSON writes a value as a line of JSON, as encoding/json has it but for two things: a list of nothing is a list, so that
// `jq '.queues[]'` works on any fleet, and the control characters that encoding/json leaves as they are, are left out.
func JSON(to io.Writer, value any) error { return writeJSON(to, value) }

// IndentedJSON is JSON over as many lines as people want it.
func IndentedJSON(to io.Writer, value any) error {
	return writeJSON(to, value, jsontext.WithIndent("  "))
}

func writeJSON(to io.Writer, value any, form ...jsonv2.Options) error {
	form = append(form, jsonv1.DefaultOptionsV1(), jsonv2.FormatNilSliceAsNull(false), jsonv2.FormatNilMapAsNull(false))
	text, err := jsonv2.Marshal(value, form...)
	if err == nil {
		_, err = PlainWriter{to}.Write(append(text, '\n'))
	}
	return err
}

// Token replaces what subjects and the names of files should not have.
func Token(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, s)
}

// Wrap breaks a text at blanks, so that no line has more characters than width unless a single
// word has, and begins every line but the first with indent blanks.
func Wrap(s string, indent, width int) string {
	var b strings.Builder
	used := 0
	for i, word := range strings.Split(s, " ") {
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

// Grouped prints an integer with thousands separators.
func Grouped[T ~int | ~int64 | ~uint32 | ~uint64](n T) string {
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

// Plural is a number and what it counts: 1 decision, 2 decisions.
func Plural(n uint64, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "ch"):
		noun += "es"
	default:
		noun += "s"
	}
	return Grouped(n) + " " + noun
}

// OrDash is s, or a dash in place of nothing.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// YesNo is the word for a truth.
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
