package userop

import "strings"

// mark makes of a body the text that is compiled: the statements that leave a
// loop note that they do. Lines stay as they are.
func mark(body string, exits []exit) string {
	var b strings.Builder
	from := 0
	for _, e := range exits {
		b.WriteString(body[from:e.first.at])
		note := "rm_open--; "
		if e.first.text == "return" {
			note = "rm_open = 0u; "
		}
		// In braces, because it may be the only statement of an if.
		b.WriteString("{ " + note + body[e.first.at:e.end.at] + "; }")
		from = e.end.at + 1
	}
	b.WriteString(body[from:])
	return b.String()
}
