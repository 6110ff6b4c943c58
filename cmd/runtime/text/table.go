package text

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// column is how a column of a table is drawn.
type column struct {
	width   int // characters of its longest cell
	numbers bool
}

// number is what a column of numbers may hold beside empty cells: a number, or a dash in
// place of one, with a unit of one word.
var number = regexp.MustCompile(`^(-|[-+]?[0-9][0-9,.]*(e[-+][0-9]+)?( ?[%×\pL/]+)?)$`)

// Table aligns rows of cells in columns, numbers to the right. A row may have fewer cells
// than the header.
func Table(header []string, rows [][]string) string {
	columns := make([]column, len(header))
	for i := range columns {
		columns[i] = columnOf(header[i], rows, i)
	}
	var b strings.Builder
	line := func(cells []string) {
		text := ""
		for i, cell := range cells {
			blanks := strings.Repeat(" ", columns[i].width-utf8.RuneCountInString(cell))
			if columns[i].numbers {
				text += blanks + cell + "  "
			} else {
				text += cell + blanks + "  "
			}
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	line(header)
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

func columnOf(header string, rows [][]string, i int) column {
	c := column{width: utf8.RuneCountInString(header)}
	others := 0
	for _, row := range rows {
		if i >= len(row) || row[i] == "" {
			continue
		}
		c.width = max(c.width, utf8.RuneCountInString(row[i]))
		c.numbers = true
		if !number.MatchString(row[i]) {
			others++
		}
	}
	c.numbers = c.numbers && others == 0
	return c
}
