package calibration

import (
	"errors"
	"fmt"
	"math"
	"time"

	"ringmaster/megakernel/gpu"
)

// ErrTimes says that a device's times make no sense.
var ErrTimes = errors.New("the device cannot be calibrated")

// Result is what was measured of a device.
type Result struct {
	Units  uint32 `json:"units"`  // workgroups that run at a time without slowing each other down, 1 to MaxUnits
	Lanes  uint32 `json:"lanes"`  // invocations of each of them
	Agreed bool   `json:"agreed"` // two measurements agree; else it is the smaller one of them
}

const (
	// MaxUnits is more than any device has.
	MaxUnits = 1 << 16

	width   = 128    // invocations of a workgroup
	rounds  = 20_000 // of a dependent chain of arithmetic: about 0.1 ms on a GPU, within the loop limit of llvmpipe
	repeats = 3      // of each time; the least counts
	// waves is how many times as long as one workgroup the last dispatch takes: which part
	// of its last wave is filled then matters little.
	waves   = 16
	longest = 50 * time.Millisecond // of a dispatch: on a device that takes so long fewer waves do
	// near is the share by which two measurements may differ and still agree.
	near = 0.2
)

const source = `#version 430 core
layout(local_size_x = 128) in;
layout(std430, binding = 0) buffer Sink { uint sink[]; };
uniform uint rounds;
void main() {
    uint x = gl_GlobalInvocationID.x;
    for (uint i = 0u; i < rounds; i++) x = x * 1664525u + 1013904223u;
    sink[gl_LocalInvocationID.x] = x;
}
`

// timer is how long a dispatch takes of some workgroups, with work or without.
type timer func(groups uint32, work bool) (time.Duration, error)

// Measure calibrates a device. Nothing else should run on it meanwhile.
func Measure(dev gpu.Device) (r Result, err error) {
	err = dev.Do(func() error {
		program, err := dev.CompileCompute(source)
		if err != nil {
			return err
		}
		defer dev.DeleteProgram(program)
		sink, err := dev.NewBuffer(width * 4)
		if err != nil {
			return err
		}
		defer dev.DeleteBuffer(sink)
		dev.BindStorage(0, sink, 0, width*4)
		at := dev.UniformLocation(program, "rounds")
		r, err = measure(func(groups uint32, work bool) (time.Duration, error) {
			n := uint32(0)
			if work {
				n = rounds
			}
			dev.SetUniform(program, at, n)
			begin := time.Now()
			dev.Dispatch(program, groups)
			dev.Barrier()
			dev.Finish()
			return time.Since(begin), dev.Check()
		})
		return err
	})
	if err != nil {
		return Result{}, fmt.Errorf("calibration: %w", err)
	}
	return r, nil
}

// measure measures twice.
func measure(t timer) (Result, error) {
	if _, err := t(1, true); err != nil { // drivers compile at the first dispatch
		return Result{}, err
	}
	a, err := units(t)
	if err != nil {
		return Result{}, err
	}
	b, err := units(t)
	if err != nil {
		return Result{}, err
	}
	least, most := min(a, b), max(a, b)
	return Result{Units: least, Lanes: width, Agreed: float64(most-least) <= max(near*float64(most), 1)}, nil
}

// units doubles the workgroups until the device is full.
func units(t timer) (uint32, error) {
	idle, err := least(t, 1, false)
	if err != nil {
		return 0, err
	}
	one, err := least(t, 1, true)
	if err != nil {
		return 0, err
	}
	if one <= idle {
		return 0, fmt.Errorf("%w: a dispatch of work takes %v, one without %v", ErrTimes, one, idle)
	}
	done := 1.0 // work done in the time of one workgroup
	for groups := uint32(2); groups <= MaxUnits; groups *= 2 {
		took, err := least(t, groups, true)
		if err != nil {
			return 0, err
		}
		if took <= idle {
			return 0, fmt.Errorf("%w: %d workgroups take %v, none %v", ErrTimes, groups, took, idle)
		}
		done = max(done, float64(groups)*float64(one-idle)/float64(took-idle))
		if took-idle >= waves*(one-idle) || took > longest {
			break
		}
	}
	return uint32(min(math.Round(done), MaxUnits)), nil
}

// least is the least of a few times.
func least(t timer, groups uint32, work bool) (time.Duration, error) {
	shortest := time.Duration(math.MaxInt64)
	for range repeats {
		took, err := t(groups, work)
		if err != nil {
			return 0, err
		}
		shortest = min(shortest, took)
	}
	return shortest, nil
}
