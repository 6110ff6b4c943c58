package fixedpoint

import (
	"math"
	"time"

	"ringmaster/megakernel/tuner/natural"
)

// Switch is a [natural.Engine] that runs a step where it is faster: on the host
// below certain numbers of candidates, on the device from these on.
type Switch struct {
	Device natural.Engine
	// The least numbers of candidates of a softmax, a dense product and a low-rank
	// product that go to the device.
	SoftmaxFrom, DenseFrom, LowRankFrom int
}

// Softmax implements [natural.Engine].
func (s *Switch) Softmax(exponentials []uint32) ([]uint32, error) {
	if len(exponentials) < s.SoftmaxFrom {
		return natural.Host{}.Softmax(exponentials)
	}
	return s.Device.Softmax(exponentials)
}

// Precondition implements [natural.Engine].
func (s *Switch) Precondition(root natural.Root, policy []uint32) ([]uint32, error) {
	from := s.DenseFrom
	if _, low := root.(*natural.LowRank); low {
		from = s.LowRankFrom
	}
	if len(policy) < from {
		return natural.Host{}.Precondition(root, policy)
	}
	return s.Device.Precondition(root, policy)
}

// Timing is what a step took on the host and on the device, where the root was
// already.
type Timing struct {
	Candidates   int
	Host, Device time.Duration
}

// Never is a size that no step has: the device was not faster at any size tried.
const Never = math.MaxInt

// Sizes that Calibrate tries. Beyond the largest the device is assumed to stay ahead.
var (
	denseSizes  = []int{64, 128, 256, 512, 1024, 2048}
	vectorSizes = []int{natural.MaxDense + 1, 16_384, 65_536, 262_144}
)

// Calibrate measures both sides at a few sizes, which takes some 0.3 s, and switches
// at the size from which on the device is faster at all sizes tried. clock gives the
// time since an arbitrary beginning.
func Calibrate(device natural.Engine, clock func() time.Duration) (*Switch, error) {
	s := &Switch{Device: device}
	for _, c := range []struct {
		from  *int
		sizes []int
		time  func(natural.Engine, int, func() time.Duration) (time.Duration, error)
	}{
		{&s.SoftmaxFrom, vectorSizes, TimeSoftmax},
		{&s.DenseFrom, denseSizes, TimePrecondition},
		{&s.LowRankFrom, vectorSizes, TimePrecondition},
	} {
		*c.from = Never
		for i := len(c.sizes) - 1; i >= 0; i-- {
			n := c.sizes[i]
			host, err := c.time(natural.Host{}, n, clock)
			if err != nil {
				return nil, err
			}
			onDevice, err := c.time(device, n, clock)
			if err != nil {
				return nil, err
			}
			if onDevice >= host {
				break
			}
			*c.from = n
		}
	}
	return s, nil
}

// repeats is how often a step is timed; the fastest counts.
const repeats = 5

// TimeSoftmax is the least time of a softmax over n candidates on an engine.
func TimeSoftmax(e natural.Engine, n int, clock func() time.Duration) (time.Duration, error) {
	in := trial(n)
	return fastest(clock, func() error { _, err := e.Softmax(in); return err })
}

// TimePrecondition is the least time of a product over n candidates on an engine.
// The root is dense up to natural.MaxDense candidates and low rank beyond.
func TimePrecondition(e natural.Engine, n int, clock func() time.Duration) (time.Duration, error) {
	policy := trial(n)
	for i := range policy {
		policy[i] &= natural.One - 1
	}
	root := trialRoot(n)
	return fastest(clock, func() error { _, err := e.Precondition(root, policy); return err })
}

func fastest(clock func() time.Duration, step func() error) (time.Duration, error) {
	least := time.Duration(math.MaxInt64)
	for i := range repeats + 1 {
		start := clock()
		if err := step(); err != nil {
			return 0, err
		}
		if took := clock() - start; i > 0 { // the first sends the root
			least = min(least, took)
		}
	}
	return least, nil
}

// trial is a vector of arbitrary numbers.
func trial(n int) []uint32 {
	out, x := make([]uint32, n), uint32(1)
	for i := range out {
		x = x*1664525 + 1013904223
		out[i] = x >> 15
	}
	return out
}

// trialRoot has the size of a root that Fisher.Root makes, not its values.
func trialRoot(n int) natural.Root {
	if n <= natural.MaxDense {
		return &natural.Dense{N: n, Cells: make([]int32, n*n)}
	}
	l := &natural.LowRank{Diagonal: make([]int32, n)}
	for range natural.Terms {
		l.Terms = append(l.Terms, natural.Term{Vector: make([]int32, n)})
	}
	return l
}
