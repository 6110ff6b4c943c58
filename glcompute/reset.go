//go:build cgo && linux

package glcompute

import (
	"errors"
	"fmt"

	"github.com/go-gl/gl/v4.3-core/gl"

	"ringmaster/megakernel/gpu"
)

// Check returns the errors that GL has pending, or an error that wraps
// ErrContextLost, or nil. GL errors are cleared by it; a loss is for good, also
// after the driver has finished its reset and reports no error any more.
func (d *Device) Check() error {
	if d.GraphicsReset() != gpu.ResetNone {
		return d.lost
	}
	err := errors.Join(d.pending, takeErrors())
	d.pending = nil
	switch {
	case errors.Is(err, ErrContextLost):
		d.lose(err, gpu.ResetUnknown)
	case err != nil: // a binding that is remembered, or the program, may be what was refused
		d.bound = [storageBindings]storageRange{}
		gl.UseProgram(0)
		d.current = Program{}
	}
	return err
}

// GraphicsReset asks whether the GPU was reset under this context: gpu.ResetNone,
// or for good the first other answer. A value that is no status of OpenGL is taken
// for gpu.ResetNone: a broken answer is no reason to throw away a context that works,
// and one that does not work says so by its errors.
func (d *Device) GraphicsReset() uint32 {
	if d.lost != nil || d.resetStatus == nil {
		return d.lostBy
	}
	switch status := d.resetStatus(); status {
	case gl.GUILTY_CONTEXT_RESET:
		d.lose(fmt.Errorf("%w (caused by this context)", ErrContextLost), gpu.ResetGuilty)
	case gl.INNOCENT_CONTEXT_RESET:
		d.lose(fmt.Errorf("%w (caused by another context)", ErrContextLost), gpu.ResetInnocent)
	case gl.UNKNOWN_CONTEXT_RESET:
		d.lose(fmt.Errorf("%w (cause unknown)", ErrContextLost), gpu.ResetUnknown)
	}
	return d.lostBy
}

func (d *Device) lose(err error, by uint32) { d.lost, d.lostBy = err, by }
