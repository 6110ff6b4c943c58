package glcompute

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The forms in which drivers name a line of source string 0:
//
//	0:12(5): error: …   Mesa
//	ERROR: 0:12: …      AMD, Intel, Apple
//	0(12) : error …     NVIDIA
var logLine = regexp.MustCompile(`(?m)^(?:[A-Z]+: )?0(?::(\d+)|\((\d+)\))`)

const (
	excerptAround = 2  // lines shown before and after a named line
	excerptNamed  = 12 // named lines shown; one slip often breaks all that follows
)

// excerpt shows the lines of source that a driver's log names, each with its
// number and its neighbours; the named ones are marked.
func excerpt(source, log string) string {
	lines := strings.Split(strings.TrimSuffix(source, "\n"), "\n")
	var named []int
	for _, m := range logLine.FindAllStringSubmatch(log, -1) {
		n, err := strconv.Atoi(m[1] + m[2])
		if err != nil || n < 1 || n > len(lines) || slices.Contains(named, n) {
			continue
		}
		if named = append(named, n); len(named) == excerptNamed {
			break
		}
	}
	slices.Sort(named)
	var b strings.Builder
	shown := 0
	for _, n := range named {
		first, last := max(n-excerptAround, shown+1), min(n+excerptAround, len(lines))
		if shown > 0 && first > shown+1 {
			b.WriteString("      ...\n")
		}
		for i := first; i <= last; i++ {
			mark := ' '
			if slices.Contains(named, i) {
				mark = '>'
			}
			fmt.Fprintf(&b, "%c %4d | %s\n", mark, i, lines[i-1])
		}
		shown = max(shown, last)
	}
	return b.String()
}
