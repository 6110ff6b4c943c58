package top

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// column is one column of a table of rows R.
type column[R any] struct {
	title string
	wide  int  // cells at least; the last column of a table takes what is left
	grows int  // cells at most, for a column whose rows need more than wide; 0: it keeps its width
	right bool // numbers
	rank  int  // columns of low rank are shown first where there is not room for all
	cell  func(r *R) string
	paint func(r *R) paint // nil: plain
}

// gap is between two columns.
const gap = "  "

// fit chooses the columns that have room, in their order, and their widths. The last column of the
// table is always there and has the rest.
func fit[R any](columns []column[R], rows []R, wide int) (chosen []column[R], widths []int) {
	last := len(columns) - 1
	left := wide - columns[last].wide
	taken := make([]int, len(columns))
	for rank := 0; rank <= maxRank; rank++ {
		for i := range columns[:last] {
			if c := &columns[i]; c.rank == rank && c.wide+len(gap) <= left {
				taken[i] = c.wide
				left -= c.wide + len(gap)
			}
		}
	}
	taken[last] = columns[last].wide
	for i := range columns { // what is left goes to those that need it
		if c := &columns[i]; taken[i] > 0 && c.grows > 0 {
			need := c.wide
			for r := range rows {
				need = max(need, min(ansi.StringWidth(clean(c.cell(&rows[r]))), c.grows))
			}
			more := min(need-c.wide, max(left, 0))
			taken[i] += more
			left -= more
		}
	}
	taken[last] += max(left, 0)
	for i := range columns {
		if taken[i] > 0 {
			chosen, widths = append(chosen, columns[i]), append(widths, taken[i])
		}
	}
	return chosen, widths
}

const maxRank = 9

// drawRow is one row in cells of the given widths.
func drawRow[R any](columns []column[R], widths []int, r *R, plain bool) string {
	var b strings.Builder
	for i := range columns {
		c := &columns[i]
		if i > 0 {
			b.WriteString(gap)
		}
		cell := pad(c.cell(r), widths[i], c.right)
		if c.paint != nil && !plain {
			cell = c.paint(r).on(cell)
		}
		b.WriteString(cell)
	}
	return strings.TrimRight(b.String(), " ")
}

// drawTitles is the line of the columns' titles.
func drawTitles[R any](columns []column[R], widths []int) string {
	var b strings.Builder
	for i := range columns {
		if i > 0 {
			b.WriteString(gap)
		}
		b.WriteString(pad(columns[i].title, widths[i], columns[i].right))
	}
	return strings.TrimRight(b.String(), " ")
}

// pad makes a text exactly so many cells of a terminal wide; what is cut ends with an ellipsis.
func pad(s string, wide int, right bool) string {
	s = cut(clean(s), wide)
	blanks := strings.Repeat(" ", max(0, wide-ansi.StringWidth(s)))
	if right {
		return blanks + s
	}
	return s + blanks
}

// cut is a text of at most so many cells.
func cut(s string, wide int) string { return ansi.Truncate(s, max(wide, 0), "…") }

// clean takes what a terminal obeys out of a text, and what changes the order or the width of others' characters.
func clean(s string) string {
	for _, r := range s {
		if r < ' ' || r > '~' {
			return strings.Map(func(r rune) rune {
				if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.M, r) {
					return unicode.ReplacementChar
				}
				return r
			}, s)
		}
	}
	return s
}
