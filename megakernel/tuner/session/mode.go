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
	Off          Mode = 0 // the policy's own geometry
	On           Mode = 1 // the whole geometry, by exploration
	Reference    Mode = 3 // the original's tuner and launch plan in its mode natural
	ReferenceOn  Mode = 4 // the same in its mode on
	ReferenceOff Mode = 5 // the same in its mode off
)

// modeOfReference is what the name of each mode of the original begins with.
const modeOfReference = "reference"

var modeNames = map[Mode]string{
	On: "on", Off: "off",
	Reference: modeOfReference, ReferenceOn: modeOfReference + "-on", ReferenceOff: modeOfReference + "-off",
}

func (m Mode) String() string {
	if name, ok := modeNames[m]; ok {
		return name
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}

// ParseMode reads a mode: on or off, as the original spells them; reference, which is the original
// in the mode that it has when it is told none; or reference and one of its modes. The error lists them.
func ParseMode(text string) (Mode, error) {
	name, ours := text, map[reference.Mode]Mode{reference.On: On, reference.Off: Off}
	if rest, dashed := strings.CutPrefix(text, modeOfReference+"-"); dashed || text == modeOfReference {
		name, ours = rest, map[reference.Mode]Mode{reference.Natural: Reference, reference.On: ReferenceOn, reference.Off: ReferenceOff}
	}
	original, err := reference.ParseMode(name, text != modeOfReference)
	mode, ok := ours[original]
	if err != nil || !ok {
		return On, fmt.Errorf("%q: want on, off (or default), or reference, reference-on or reference-off, which are the original's tuner", text)
	}
	return mode, nil
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
