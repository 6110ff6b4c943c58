package reference

import (
	"errors"
	"fmt"
)

// ErrMode says that a text does not name a mode.
var ErrMode = errors.New("not a mode of the tuner")

// Mode says how widths are chosen.
type Mode uint8

// Modes.
const (
	Natural Mode = iota // measure, then choose by the natural gradient
	On                  // measure, then take the fastest
	Off                 // take the declared width
)

func (m Mode) String() string {
	switch m {
	case Natural:
		return "natural"
	case On:
		return "on"
	case Off:
		return "off"
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}

// ParseMode reads a mode as the original's environment variable spells it:
// "on"; "natural" or "ng"; "off" or "default". set says whether the variable is set
// at all; unset means Natural. Any other text makes the original panic; here it is an
// error that lists what is valid.
func ParseMode(text string, set bool) (Mode, error) {
	if !set {
		return Natural, nil
	}
	switch text {
	case "on":
		return On, nil
	case "natural", "ng":
		return Natural, nil
	case "off", "default":
		return Off, nil
	}
	return Natural, fmt.Errorf("mode %q, want on, natural, ng, off or default: %w", text, ErrMode)
}
