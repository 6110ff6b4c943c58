package policy

import (
	"errors"
	"fmt"
)

// Errors of a decision, in the order in which they take precedence.
var (
	// ErrBps: a frontier density or memory pressure is above 10,000 bps. Only
	// Config.StrictBps refuses it.
	ErrBps = errors.New("share above 10000 bps")
	// ErrHysteresisUnderflow: a hysteresis width exceeds the threshold it is
	// subtracted from, on a row of the table that needs the lower bound. A
	// validated Config never causes it.
	ErrHysteresisUnderflow = errors.New("hysteresis exceeds its threshold")
	// ErrHysteresisOverflow: threshold plus hysteresis exceeds 65,535 bps, on
	// a row that needs the upper bound. A validated Config never causes it.
	ErrHysteresisOverflow = errors.New("threshold plus hysteresis exceeds 65535 bps")
	// ErrMemoryThreshold: shedding needs a memory pressure threshold of at
	// most 10,000 bps. A validated Config never causes it.
	ErrMemoryThreshold = errors.New("memory pressure threshold above 10000 bps")
	// ErrZeroWorkgroupSize: the device limit on the workgroup size is 0 or unknown.
	ErrZeroWorkgroupSize = errors.New("maximum workgroup size is zero")
	// ErrZeroWorkgroups: the device limit on workgroups in a dimension is 0 or unknown.
	ErrZeroWorkgroups = errors.New("maximum workgroups per dimension is zero")
	// ErrZeroInvocations: the device limit on invocations in a workgroup is 0 or unknown.
	ErrZeroInvocations = errors.New("maximum invocations per workgroup is zero")
	// ErrHitCapacity: queue length times hits per item times head room does not fit 32 bits.
	ErrHitCapacity = errors.New("hit capacity exceeds 32 bits")
	// ErrPeakBytes: resident bytes plus hit buffer do not fit 64 bits.
	ErrPeakBytes = errors.New("estimated peak exceeds 64 bits")
)

// OutOfMemoryError is returned when the estimated peak exceeds the budget:
// that of the plan, or with Config.FitBudget that of the smallest plan.
type OutOfMemoryError struct {
	Requested uint64 // estimated peak, bytes
	Available uint64 // budget, bytes
}

func (e *OutOfMemoryError) Error() string {
	return fmt.Sprintf("plan needs %d bytes of %d", e.Requested, e.Available)
}
