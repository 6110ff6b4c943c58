package main

import (
	"ringmaster/glcompute"
)

// busyDevice gives a GPU work between timed searches. A GPU that mostly waits for the host lowers its clocks: searches of a
// tenth of a millisecond kept an H200 at 800 to 1,300 MHz instead of 1,980, and took two to three times as long. A software
// renderer has no such clocks, and its work would only be in the way.
type busyDevice struct {
	device  *glcompute.Device
	program glcompute.Program
	buffer  glcompute.Buffer
}

// busyKernel computes for half a millisecond on an H200.
const busyKernel = `#version 430 core
layout(local_size_x = 256) in;
layout(std430, binding = 0) buffer Result { uint result; };
void main() {
    uint x = gl_GlobalInvocationID.x;
    for (uint i = 0u; i < 250000u; i++) {
        x = x * 1664525u + 1013904223u;
    }
    if (x == 1u) { // so that the loop is not removed
        result = x;
    }
}
`

const busyGroups = 264 // two for each multiprocessor of an H200

// newBusyDevice does nothing for a software renderer.
func newBusyDevice(device *glcompute.Device) (*busyDevice, error) {
	b := &busyDevice{device: device}
	if device.Info().Software {
		return b, nil
	}
	return b, device.Do(func() (err error) {
		if b.program, err = device.CompileCompute(busyKernel); err == nil {
			b.buffer, err = device.NewBuffer(4)
		}
		return err
	})
}

// run keeps the device busy for a while, and waits for it.
func (b *busyDevice) run() error {
	if b.program.Program == 0 {
		return nil
	}
	return b.device.Do(func() error {
		b.device.BindStorage(0, b.buffer, 0, 4)
		b.device.Dispatch(b.program, busyGroups)
		b.device.Finish()
		return b.device.Check()
	})
}

func (b *busyDevice) close() error {
	if b.program.Program == 0 {
		return nil
	}
	return b.device.Do(func() error {
		b.device.DeleteBuffer(b.buffer)
		b.device.DeleteProgram(b.program)
		return nil
	})
}
