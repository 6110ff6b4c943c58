package cache

import (
	"fmt"

	"ringmaster/megakernel/policy"
)

// MaxSharedBytes bounds an entry that comes from elsewhere.
const MaxSharedBytes = 32 << 10

// Shared is the entry as a file of its own, to be sent to others.
func (e *Entry) Shared(device string) []byte {
	return format(device, []*stored{{Entry: *e}})
}

// ReadShared reads what Shared wrote. Anybody may have written the bytes: they go
// through the same checks as a file, and must hold exactly one sound entry, of the
// device and with the key under which they were found.
func ReadShared(data []byte, device string, key Key) (Entry, error) {
	if len(data) > MaxSharedBytes {
		return Entry{}, fmt.Errorf("shared entry of %d bytes, at most %d: %w", len(data), MaxSharedBytes, ErrFile)
	}
	entries, err := parse(data, device)
	switch {
	case err != nil:
		return Entry{}, fmt.Errorf("shared entry: %w", err)
	case len(entries) != 1 || entries[0].Key != key:
		return Entry{}, fmt.Errorf("shared entry: %d entries, not the one of its key: %w", len(entries), ErrEntry)
	}
	return entries[0].Entry, nil
}

// Merged is the entry with what another one knows besides. If both measured a
// geometry, the entry's own measurement counts. The selection is the entry's own
// too, unless it has neither a selection nor measurements.
func (e *Entry) Merged(other *Entry) Entry {
	out := e.clone()
	if out.Selected == (policy.Geometry{}) && len(out.Measurements) == 0 {
		out.Selected = other.Selected
	}
	known := make(map[policy.Geometry]bool, len(out.Measurements))
	for i := range out.Measurements {
		known[out.Measurements[i].Geometry] = true
	}
	for _, m := range other.Measurements {
		if len(out.Measurements) < MaxMeasurements && !known[m.Geometry] {
			out.Measurements = append(out.Measurements, m)
		}
	}
	return out
}
