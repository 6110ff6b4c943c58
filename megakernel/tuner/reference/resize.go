package reference

import "math"

// Resize is the original's rule: halve a workgroup that idles, double one
// whose throughput has not saturated.
type Resize struct {
	MaxWidth        uint32  // invocations; growth stops here
	MinWidth        uint32  // invocations; shrinking stops here
	SaturationPerUs float64 // slots per microsecond below which a wider group is tried
	IdleShrinkUs    uint64  // idle microseconds above which a narrower group is tried
}

// DefaultResize returns the original's constants.
func DefaultResize() Resize {
	return Resize{MaxWidth: 1_024, MinWidth: 32, SaturationPerUs: 1, IdleShrinkUs: 100_000}
}

// Next returns the width to use after a launch at width, and whether it
// differs. width 0 counts as 1. A launch that idled too long is never a reason
// to grow, whatever its throughput; a NaN throughput changes nothing.
func (r *Resize) Next(width uint32, idleUs uint64, perUs float64) (next uint32, changed bool) {
	width = max(width, 1)
	if idleUs > r.IdleShrinkUs {
		if half := width / 2; half >= r.MinWidth {
			return half, true
		}
		return width, false
	}
	if perUs < r.SaturationPerUs && width <= math.MaxUint32/2 && 2*width <= r.MaxWidth {
		return 2 * width, true
	}
	return width, false
}
