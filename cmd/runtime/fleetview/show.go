package fleetview

import (
	"fmt"
	"time"

	"ringmaster/cmd/runtime/text"
)

// Unknown is how a figure is shown that is not known.
const Unknown = "-"

// Number is a figure in at most seven characters: 12.5, 1,234, 45.6k, 1.23M.
func (f Figure) Number() string {
	v := f.Value
	switch {
	case !f.Known:
		return Unknown
	case v == 0:
		return "0"
	case v < 9.95:
		return fmt.Sprintf("%.1f", v)
	case v < 9999.5:
		return text.Grouped(int64(v + .5))
	}
	for _, unit := range "kMGT" {
		if v /= 1000; v < 999.5 || unit == 'T' {
			return fmt.Sprintf("%.3g%c", v, unit)
		}
	}
	return ""
}

// Span is a figure in seconds as a time, in three digits.
func (f Figure) Span() string {
	switch {
	case !f.Known:
		return Unknown
	case f.Value == 0:
		return "0"
	}
	return Short(f.duration())
}

// Ago is a figure in seconds as a time that has passed.
func (f Figure) Ago() string {
	if !f.Known {
		return Unknown
	}
	return Ago(f.duration())
}

// Share is a figure as a part in a hundred.
func (f Figure) Share() string {
	if !f.Known {
		return Unknown
	}
	return fmt.Sprintf("%.0f %%", 100*f.Value)
}

func (f Figure) duration() time.Duration { return time.Duration(f.Value * float64(time.Second)) }
