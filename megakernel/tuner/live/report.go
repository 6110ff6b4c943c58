package live

import (
	"errors"
	"fmt"
	"math"

	"ringmaster/megakernel/policy"
)

// Reasons to refuse a report. The tuner goes on.
var (
	ErrEmpty    = errors.New("launch without slots")
	ErrZeroTime = errors.New("timer read zero")
	ErrAbsurd   = errors.New("time beyond any launch")
	ErrWall     = errors.New("longer than the wall clock says")
	ErrTooFast  = errors.New("faster than the device can be, against what it did before")
	ErrGeometry = errors.New("geometry beyond the limits of this tuner")
)

// Report is what a launch measured.
type Report struct {
	Geometry policy.Geometry
	Slots    uint32 // slots it ran
	Ns       uint64 // time on the device
	WallNs   uint64 // from submission to completion by the host's clock; 0 if not known
	// CountsNs is the part of Ns that looks are paid from, or that a look is charged: that for
	// which users waited, 0 for a launch for which nobody did.
	CountsNs uint64
}

// Check refuses readings that no launch can give, whatever its geometry.
func (r *Report) Check() error {
	switch {
	case r.Slots == 0:
		return fmt.Errorf("report of %+v: %w", r.Geometry, ErrEmpty)
	case r.Ns == 0:
		return fmt.Errorf("report of %d slots: %w", r.Slots, ErrZeroTime)
	case r.Ns > maxNs:
		return fmt.Errorf("report of %d ns: %w", r.Ns, ErrAbsurd)
	case r.WallNs != 0 && float64(r.Ns) > wallSlack*float64(r.WallNs):
		return fmt.Errorf("report of %d ns in %d ns: %w", r.Ns, r.WallNs, ErrWall)
	}
	return nil
}

// admit does what Check does, and finds the geometry.
func (t *Tuner) admit(r *Report) (config int32, err error) {
	config, ok := t.space.index[r.Geometry]
	if !ok {
		return 0, fmt.Errorf("report of %+v: %w", r.Geometry, ErrGeometry)
	}
	return config, r.Check()
}

// plausible refuses a time far below what was measured. Several of them in a row are
// believed: the device has become faster.
func (t *Tuner) plausible(config int32, l launch) error {
	least := fasterThanBest
	if config == t.current {
		least = fasterThanSelf
	}
	if !t.before.ran || l.y >= t.level()-math.Log(least) {
		t.fast = 0
		return nil
	}
	if t.fast++; t.fast >= convincing {
		return nil
	}
	return fmt.Errorf("%.3g ns a slot: %w", math.Exp(l.y), ErrTooFast)
}
