//go:build cgo && linux

package glcompute

import (
	"errors"
	"fmt"

	"github.com/go-gl/gl/v4.3-core/gl"
)

// Check returns the errors that GL has pending, or an error that wraps
// ErrContextLost, or nil. GL errors are cleared by it; a loss is for good, also
// after the driver has finished its reset and reports no error any more.
func (d *Device) Check() error {
	if err := d.reset(); err != nil {
		return err
	}
	err := errors.Join(d.pending, takeErrors())
	d.pending = nil
	switch {
	case errors.Is(err, ErrContextLost):
		d.lost = err
	case err != nil: // a binding that is remembered, or the program, may be what was refused
		d.bound = [storageBindings]storageRange{}
		gl.UseProgram(0)
		d.current = Program{}
	}
	return err
}

// reset asks whether the GPU was reset under this context, and says so for good from then
// on. A value that is no status of OpenGL is ignored: a broken answer is no reason to
// throw away a context that works, and one that does not work says so by its errors.
func (d *Device) reset() error {
	if d.lost != nil || d.resetStatus == nil {
		return d.lost
	}
	switch status := d.resetStatus(); status {
	case gl.GUILTY_CONTEXT_RESET:
		d.lost = fmt.Errorf("%w (caused by this context)", ErrContextLost)
	case gl.INNOCENT_CONTEXT_RESET:
		d.lost = fmt.Errorf("%w (caused by another context)", ErrContextLost)
	case gl.UNKNOWN_CONTEXT_RESET:
		d.lost = fmt.Errorf("%w (cause unknown)", ErrContextLost)
	}
	return d.lost
}
