package session

import (
	"fmt"
	"strings"

	"ringmaster/megakernel/tuner/reference"
)

// Mode says how geometries are chosen.
type Mode uint8

// Modes. Their numbers are part of what is remembered.
const (
	Natural      Mode = iota // the width, by the natural gradient
	On                       // the whole geometry, by exploration
	Off                      // the policy's own geometry
	Reference                // the original's tuner and launch plan in its mode natural
	ReferenceOn              // the same in its mode on
	ReferenceOff             // the same in its mode off
)

// modeOfReference is what the name of each mode of the original begins with.
const modeOfReference = "reference"

var modeNames = [...]string{
	Natural: "natural", On: "on", Off: "off",
	Reference: modeOfReference, ReferenceOn: modeOfReference + "-on", ReferenceOff: modeOfReference + "-off",
}

func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}

// ParseMode reads a mode: on, natural or off, as the original spells them; reference, which is the original
// in the mode that it has when it is told none; or reference and one of its modes. The error lists them.
func ParseMode(text string) (Mode, error) {
	name, dashed := strings.CutPrefix(text, modeOfReference+"-")
	original := dashed || text == modeOfReference
	mode, err := reference.ParseMode(name, text != modeOfReference)
	if err != nil {
		return On, fmt.Errorf("%q: want on, natural (or ng), off (or default), or reference, reference-on or reference-off, which are the original's tuner", text)
	}
	of := map[reference.Mode]Mode{reference.Natural: Natural, reference.On: On, reference.Off: Off}
	if original {
		of = map[reference.Mode]Mode{reference.Natural: Reference, reference.On: ReferenceOn, reference.Off: ReferenceOff}
	}
	return of[mode], nil
}

// Original is the mode in which the original's tuner chooses; ok is false if it does not.
func (m Mode) Original() (mode reference.Mode, ok bool) {
	switch m {
	case Reference:
		return reference.Natural, true
	case ReferenceOn:
		return reference.On, true
	case ReferenceOff:
		return reference.Off, true
	}
	return 0, false
}
