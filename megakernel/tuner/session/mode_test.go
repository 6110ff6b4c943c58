package session

import (
	"strings"
	"testing"
)

func TestModesAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]Mode{
		"on": On, "off": Off, "default": Off,
		"reference": Reference, "reference-natural": Reference, "reference-ng": Reference,
		"reference-on": ReferenceOn, "reference-off": ReferenceOff, "reference-default": ReferenceOff,
	} {
		if got, err := ParseMode(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for m := range modeNames {
		if got, err := ParseMode(m.String()); err != nil || got != m {
			t.Errorf("%v: %v, %v", m, got, err)
		}
	}
	for _, text := range []string{"", "-", "natural", "ng", "-on", "ON", "reference-", "reference--on", "referenceon", "reference-reference", "references"} {
		if _, err := ParseMode(text); err == nil || !strings.Contains(err.Error(), "reference-off") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
