package policy

import (
	"fmt"
	"strings"
)

// Enumerations and bit sets are written by name, so that a stored decision outlives a
// change of their numbers. A bit set is its names with commas between them.

var presenceNames = [...]string{"frontier_density", "memory_pressure", "frontier_edges"}

var tunedNames = [...]string{"width", "groups", "chunk", "depth"}

// String returns the names of the fields that were measured, with commas between them.
func (p Presence) String() string { return bitNames(presenceNames[:], uint8(p), "presence") }

// String returns the names of the parts that the tuner chose, with commas between them.
func (a TunedAxes) String() string { return bitNames(tunedNames[:], uint8(a), "tuned") }

// MarshalText is String.
func (t Topology) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText takes a name that String returns.
func (t *Topology) UnmarshalText(b []byte) error {
	return parse(topologyNames[:], b, "topology", (*uint8)(t))
}

// MarshalText is String.
func (p Pressure) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText takes a name that String returns.
func (p *Pressure) UnmarshalText(b []byte) error {
	return parse(pressureNames[:], b, "pressure", (*uint8)(p))
}

// MarshalText is String.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText takes a name that String returns.
func (m *Mode) UnmarshalText(b []byte) error { return parse(modeNames[:], b, "mode", (*uint8)(m)) }

// MarshalText is String.
func (m LaunchMode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText takes a name that String returns.
func (m *LaunchMode) UnmarshalText(b []byte) error {
	return parse(launchModeNames[:], b, "launch mode", (*uint8)(m))
}

// MarshalText is String.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText takes a name that String returns.
func (r *Rule) UnmarshalText(b []byte) error { return parse(ruleNames[:], b, "rule", (*uint8)(r)) }

// MarshalText is String.
func (p Presence) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText takes what String returns.
func (p *Presence) UnmarshalText(b []byte) error {
	return parseBits(presenceNames[:], b, "presence", (*uint8)(p))
}

// MarshalText is String.
func (a TunedAxes) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText takes what String returns.
func (a *TunedAxes) UnmarshalText(b []byte) error {
	return parseBits(tunedNames[:], b, "tuned", (*uint8)(a))
}

func parse(names []string, text []byte, kind string, into *uint8) error {
	for i, n := range names {
		if n == string(text) {
			*into = uint8(i)
			return nil
		}
	}
	return fmt.Errorf("%s %.64q is none of the names of this version", kind, text)
}

func bitNames(names []string, v uint8, kind string) string {
	if v>>len(names) != 0 {
		return fmt.Sprintf("%s(%d)", kind, v)
	}
	var set []string
	for i, n := range names {
		if v&(1<<i) != 0 {
			set = append(set, n)
		}
	}
	return strings.Join(set, ",")
}

func parseBits(names []string, text []byte, kind string, into *uint8) error {
	*into = 0
	if len(text) == 0 {
		return nil
	}
	for name := range strings.SplitSeq(string(text), ",") {
		var bit uint8
		if err := parse(names, []byte(name), kind, &bit); err != nil {
			return err
		}
		*into |= 1 << bit
	}
	return nil
}
