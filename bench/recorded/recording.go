package recorded

import (
	"errors"
	"fmt"
	"math"

	"ringmaster/megakernel/tuner/space"
)

// ErrRecording says that a recording cannot be used.
var ErrRecording = errors.New("unusable recording")

// Recording is a space in which every configuration was measured.
type Recording struct {
	*space.Space
	Kernel string // what was tuned; recordings of one kernel can teach each other
	Device string // where; may be empty
	Costs  []float64
	best   float64
}

// NewRecording returns a recording of costs by configuration, in any unit; +Inf
// stands for one that fails. At least one must not fail.
func NewRecording(s *space.Space, kernel, device string, costs []float64) (*Recording, error) {
	if len(costs) != s.Len() {
		return nil, fmt.Errorf("%w: %d costs of %d configurations", ErrRecording, len(costs), s.Len())
	}
	best := math.Inf(1)
	for c, cost := range costs {
		if !(cost > 0) {
			return nil, fmt.Errorf("%w: configuration %d costs %v; costs are above zero", ErrRecording, c, cost)
		}
		best = min(best, cost)
	}
	if math.IsInf(best, 1) {
		return nil, fmt.Errorf("%w: every configuration fails", ErrRecording)
	}
	return &Recording{Space: s, Kernel: kernel, Device: device, Costs: costs, best: best}, nil
}

// Best is the lowest cost.
func (r *Recording) Best() float64 { return r.best }
