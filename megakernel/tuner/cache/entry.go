package cache

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"

	"ringmaster/megakernel/policy"
)

// Limits of what an entry may say. No launch of this program measures anything
// beyond them.
const (
	MaxWidth        = 1 << 16 // invocations of a workgroup
	MaxGroups       = 1 << 31 // workgroups
	MaxChunk        = 1 << 30 // slots one ticket claims
	MaxDepth        = 1 << 30 // slots of a launch
	MaxMeasurements = 256     // geometries of one entry
	maxMeanNs       = 3.6e12  // an hour for one slot
	minMeanNs       = 1e-9    // far below any device; its square is still a normal number
)

// ErrEntry says that an entry contradicts itself or exceeds the limits.
var ErrEntry = errors.New("entry makes no sense")

// Key names what was tuned: a hash over program, shape, limits and device.
type Key [32]byte

func (k Key) String() string { return hex.EncodeToString(k[:]) }

// Measurement sums up the launches at one geometry.
type Measurement struct {
	policy.Geometry         // a zero in groups, chunk or depth means that it was not chosen
	Count           uint64  // launches, at least 1
	Mean            float64 // nanoseconds a slot
	M2              float64 // sum of squared differences from the mean
}

// Entry is what is known about one key.
type Entry struct {
	Key          Key
	Selected     policy.Geometry // zero if nothing is selected yet
	Measurements []Measurement
}

// Check reports why an entry cannot be used.
func (e *Entry) Check() error {
	if e.Selected != (policy.Geometry{}) {
		if err := checkGeometry(e.Selected); err != nil {
			return fmt.Errorf("selected: %w", err)
		}
	}
	if len(e.Measurements) > MaxMeasurements {
		return fmt.Errorf("%d measurements, at most %d: %w", len(e.Measurements), MaxMeasurements, ErrEntry)
	}
	for i := range e.Measurements {
		m := &e.Measurements[i]
		if err := m.check(); err != nil {
			return fmt.Errorf("measurement %d: %w", i, err)
		}
		same := func(other Measurement) bool { return other.Geometry == m.Geometry }
		if slices.IndexFunc(e.Measurements, same) != i {
			return fmt.Errorf("measurement %d: geometry %v again: %w", i, m.Geometry, ErrEntry)
		}
	}
	return nil
}

func checkGeometry(g policy.Geometry) error {
	if g.Width < 1 || g.Width > MaxWidth || g.Groups > MaxGroups || g.Chunk > MaxChunk || g.Depth > MaxDepth {
		return fmt.Errorf("geometry %+v: %w", g, ErrEntry)
	}
	return nil
}

func (m *Measurement) check() error {
	if err := checkGeometry(m.Geometry); err != nil {
		return err
	}
	// Written so that NaN fails.
	if m.Count < 1 || !(m.Mean >= minMeanNs && m.Mean <= maxMeanNs) || !(m.M2 >= 0 && m.M2 <= math.MaxFloat32) {
		return fmt.Errorf("count %d, mean %g ns, m2 %g: %w", m.Count, m.Mean, m.M2, ErrEntry)
	}
	return nil
}

// clone is a copy that shares no memory.
func (e *Entry) clone() Entry {
	c := *e
	c.Measurements = slices.Clone(e.Measurements)
	return c
}
