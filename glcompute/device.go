//go:build cgo && linux

package glcompute

import (
	"errors"
	"fmt"

	"github.com/go-gl/gl/v4.3-core/gl"
)

// Device is one OpenGL 4.3 compute context on a thread of its own. Do, Close,
// Info, Identity, WorkgroupLimits and StorageBlockLimit may be called from any
// goroutine; every other method must be called inside Do.
type Device struct {
	thread  *Thread
	context context
	info    Info

	resetStatus func() uint32 // nil where the driver cannot tell
	pending     error         // a GL error noticed while looking for another
	lost        error         // set once by the first sign of a reset
	current     uint32        // the program in use
	timer       uint32        // the query of BeginTimer, 0 until first used
	timing      bool

	buffers  map[uint32]int // live buffers and their sizes in bytes
	programs map[uint32]struct{}
}

// newDevice takes over a context that is current on the calling thread.
func newDevice(c context, taken Attempt) (*Device, error) {
	if err := loadGL(c); err != nil {
		return nil, err
	}
	if err := checkVersion(); err != nil {
		return nil, err
	}
	d := &Device{
		context:  c,
		info:     readInfo(c, taken),
		buffers:  map[uint32]int{},
		programs: map[uint32]struct{}{},
	}
	d.resetStatus = resetStatusFunc(d.info)
	return d, d.Check()
}

// Do runs fn on the device's thread and returns its error; see Thread.Do. After
// Close it returns ErrClosed.
func (d *Device) Do(fn func() error) error { return d.thread.Do(fn) }

// Close waits for the functions under way, deletes what is left on the device
// and destroys the context. Closing twice is allowed.
func (d *Device) Close() error {
	err := d.Do(func() error {
		d.deleteAll()
		d.context.release()
		return nil
	})
	d.thread.Close()
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

func (d *Device) deleteAll() {
	for program := range d.programs {
		d.DeleteProgram(program)
	}
	for buffer := range d.buffers {
		d.DeleteBuffer(buffer)
	}
	if d.timer != 0 {
		gl.DeleteQueries(1, &d.timer)
		d.timer = 0
	}
}

// Live counts the objects on the device that were made and not deleted. Call it
// inside Do, or after Close.
func (d *Device) Live() (buffers, programs int) { return len(d.buffers), len(d.programs) }

// Info describes the device; it does not change.
func (d *Device) Info() Info { return d.info }

// Identity names the driver: GL_VENDOR, GL_RENDERER, GL_VERSION.
func (d *Device) Identity() (vendor, renderer, version string) {
	return d.info.Vendor, d.info.Renderer, d.info.Version
}

// WorkgroupLimits are the largest local size along x, number of groups along x,
// and invocations in a group.
func (d *Device) WorkgroupLimits() (sizeX, groupsX, invocations uint32) {
	l := d.info.Limits
	return l.WorkgroupSize[0], l.WorkgroupCount[0], l.WorkgroupInvocations
}

// StorageBlockLimit is the largest storage block in bytes.
func (d *Device) StorageBlockLimit() int64 { return d.info.Limits.StorageBlockSize }

// Dispatch starts a program with groupsX workgroups along x.
func (d *Device) Dispatch(program, groupsX uint32) {
	if d.current != program {
		gl.UseProgram(program)
		d.current = program
	}
	gl.DispatchCompute(groupsX, 1, 1)
}

// StorageBarrier orders the writes of shaders before later reads by shaders,
// by ReadBuffer, and of indirect dispatch commands.
func (d *Device) StorageBarrier() {
	gl.MemoryBarrier(gl.SHADER_STORAGE_BARRIER_BIT | gl.BUFFER_UPDATE_BARRIER_BIT | gl.COMMAND_BARRIER_BIT)
}

// Finish waits until the device has done all it was given.
func (d *Device) Finish() { gl.Finish() }

// BeginTimer starts measuring the device's time. Timers do not nest.
func (d *Device) BeginTimer() {
	if d.timer == 0 {
		gl.GenQueries(1, &d.timer)
	}
	gl.BeginQuery(gl.TIME_ELAPSED, d.timer)
	d.timing = true
}

// EndTimer waits for what was dispatched since BeginTimer and returns its time
// in nanoseconds as the driver reports it; llvmpipe reports 0 or 1 for compute.
// Without a BeginTimer it returns 0.
func (d *Device) EndTimer() uint64 {
	if !d.timing {
		return 0
	}
	d.timing = false
	gl.EndQuery(gl.TIME_ELAPSED)
	var ns uint64
	gl.GetQueryObjectui64v(d.timer, gl.QUERY_RESULT, &ns)
	return ns
}

// Check returns the errors that GL has pending, or an error that wraps
// ErrContextLost, or nil. GL errors are cleared by it; a loss is for good, also
// after the driver has finished its reset and reports no error any more.
func (d *Device) Check() error {
	if d.lost != nil {
		return d.lost
	}
	if d.resetStatus != nil {
		if status := d.resetStatus(); status != gl.NO_ERROR {
			d.lost = fmt.Errorf("%w (%s)", ErrContextLost, resetName(status))
			return d.lost
		}
	}
	err := errors.Join(d.pending, takeErrors())
	d.pending = nil
	if errors.Is(err, ErrContextLost) {
		d.lost = err
	}
	return err
}

// takeErrors drains GL's error flags. A driver may hold one flag per stage;
// the bound ends the loop on a lost context, where every call reports one.
func takeErrors() error {
	var errs []error
	for range 8 {
		code := gl.GetError()
		if code == gl.NO_ERROR {
			break
		}
		if code == contextLost {
			return fmt.Errorf("%w (GL_CONTEXT_LOST)", ErrContextLost)
		}
		errs = append(errs, fmt.Errorf("glcompute: %s", errorName(code)))
	}
	return errors.Join(errs...)
}

// own runs a GL call and returns the error that it alone caused; errors pending
// from before are kept for Check.
func (d *Device) own(call func()) error {
	d.pending = errors.Join(d.pending, takeErrors())
	call()
	return takeErrors()
}

const contextLost = 0x0507 // GL_CONTEXT_LOST, OpenGL 4.5

func errorName(code uint32) string {
	switch code {
	case gl.INVALID_ENUM:
		return "GL_INVALID_ENUM"
	case gl.INVALID_VALUE:
		return "GL_INVALID_VALUE"
	case gl.INVALID_OPERATION:
		return "GL_INVALID_OPERATION"
	case gl.INVALID_FRAMEBUFFER_OPERATION:
		return "GL_INVALID_FRAMEBUFFER_OPERATION"
	case gl.OUT_OF_MEMORY:
		return "GL_OUT_OF_MEMORY"
	}
	return fmt.Sprintf("GL error %#x", code)
}

func resetName(status uint32) string {
	switch status {
	case gl.GUILTY_CONTEXT_RESET:
		return "caused by this context"
	case gl.INNOCENT_CONTEXT_RESET:
		return "caused by another context"
	case gl.UNKNOWN_CONTEXT_RESET:
		return "cause unknown"
	}
	return fmt.Sprintf("reset status %#x", status)
}
