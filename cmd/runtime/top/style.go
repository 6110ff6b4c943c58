package top

import "ringmaster/cmd/runtime/fleetview"

// paint is how a text is shown. The sixteen colours are those of the user's theme; the program's output has none where
// the terminal has none or NO_COLOR is set. No colour says anything that words do not.
type paint string

const (
	plain  paint = ""
	alarm  paint = "1;31" // bold red
	warn   paint = "33"   // yellow
	good   paint = "32"   // green
	dim    paint = "2"
	strong paint = "1"
	chosen paint = "7" // the row under the cursor
)

// on paints a text.
func (p paint) on(s string) string {
	if p == plain {
		return s
	}
	return "\x1b[" + string(p) + "m" + s + "\x1b[m"
}

func paintOf(s fleetview.State) paint {
	switch {
	case s >= fleetview.Waiting:
		return alarm
	case s.Wrong():
		return warn
	case s == fleetview.Held:
		return dim
	}
	return plain
}
