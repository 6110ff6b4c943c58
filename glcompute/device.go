//go:build cgo && linux

package glcompute

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/go-gl/gl/v4.3-core/gl"
)

// Device is one OpenGL 4.3 compute context on a thread of its own. Do, Close,
// Info, Identity, Software, WorkgroupLimits, StorageBlockLimit, StorageBlocks, Supports,
// OpenShared, StoreMapped, LoadMapped, StoreWord, LoadWord and Live may be called from any
// goroutine; every other method must be called inside Do.
type Device struct {
	thread  *Thread
	context context
	info    Info

	resetStatus    func() uint32      // nil where the driver cannot tell
	mapBufferRange uintptr            // address of the GL function
	barrier        uint32             // the bits of Barrier
	pending        error              // a GL error noticed while looking for another
	lost           error              // set once by the first sign of a reset
	current        Program            // in use
	queries        map[Query]struct{} // live queries of NewQuery
	answer         *queryAnswer       // of QueryResult

	bound      [storageBindings]storageRange // what BindStorage bound
	boundSince uint64                        // objects.deleted then

	objects *objects // shared with the devices of OpenShared
}

// newDevice takes over a context that is current on the calling thread and whose
// share group has the objects o.
func newDevice(c context, taken Attempt, o *objects) (*Device, error) {
	if err := loadGL(c); err != nil {
		return nil, err
	}
	if err := checkVersion(); err != nil {
		return nil, err
	}
	d := &Device{
		context: c,
		info:    readInfo(c, taken),
		queries: map[Query]struct{}{},
		answer:  new(queryAnswer),
		objects: o,
	}
	if err := d.info.Limits.usable(); err != nil {
		return nil, err
	}
	d.resetStatus = resetStatusFunc(d.info)
	d.barrier = gl.COMMAND_BARRIER_BIT | gl.SHADER_STORAGE_BARRIER_BIT | gl.BUFFER_UPDATE_BARRIER_BIT
	if d.info.Capabilities.BufferStorage {
		d.mapBufferRange = c.proc("glMapBufferRange")
		d.barrier |= clientBarrier
	}
	if err := d.Check(); err != nil {
		return nil, err
	}
	o.join(1)
	return d, nil
}

// Do runs fn on the device's thread and returns its error; see Thread.Do. After
// Close it returns ErrClosed.
func (d *Device) Do(fn func() error) error { return d.thread.Do(fn) }

// Close waits for the functions under way, deletes what is left on the device
// and destroys the context. Buffers and programs of a share group go with the
// last of its devices. Closing twice is allowed.
func (d *Device) Close() error {
	err := d.Do(func() error {
		d.deleteOwn()
		if d.objects.join(-1) == 0 {
			d.deleteShared()
		}
		d.context.release()
		return nil
	})
	d.thread.Close()
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// deleteOwn deletes what contexts do not share.
func (d *Device) deleteOwn() {
	for q := range d.queries {
		d.DeleteQuery(q)
	}
}

func (d *Device) deleteShared() {
	buffers, programs := d.objects.live()
	for _, program := range programs {
		d.DeleteProgram(program)
	}
	for _, buffer := range buffers {
		d.DeleteBuffer(buffer)
	}
}

// Live counts the objects of the share group that were made and not deleted.
func (d *Device) Live() (buffers, programs int) {
	b, p := d.objects.live()
	return len(b), len(p)
}

// Describe says what the units of a device are whose driver does not tell. It is called before
// the device is used; what a driver tells stays.
func (d *Device) Describe(u Units) {
	if d.info.Units == (Units{}) {
		d.info.Units = u
	}
}

// Info describes the device; it does not change after Describe.
func (d *Device) Info() Info { return d.info }

// Identity names the driver: GL_VENDOR, GL_RENDERER, GL_VERSION.
func (d *Device) Identity() (vendor, renderer, version string) {
	return d.info.Vendor, d.info.Renderer, d.info.Version
}

// WorkgroupLimits are the largest local size along x, number of groups along x,
// and invocations in a group; none is 0.
func (d *Device) WorkgroupLimits() (sizeX, groupsX, invocations uint32) {
	l := d.info.Limits
	return l.WorkgroupSize[0], l.WorkgroupCount[0], l.WorkgroupInvocations
}

// Units are what runs workgroups independently of each other, the invocations that each of
// them holds at once, and those of a subgroup; 0 where it is not known.
func (d *Device) Units() (count, lanes, subgroup uint32) {
	return d.info.Units.Count, d.info.Units.Lanes, d.info.Capabilities.SubgroupSize
}

// Software tells whether the renderer runs on the CPU.
func (d *Device) Software() bool { return d.info.Software }

// StorageBlocks is how many storage blocks a compute shader may have, at least 8.
func (d *Device) StorageBlocks() uint32 { return d.info.Limits.StorageBlocks }

// StorageBlockLimit is the largest storage block in bytes.
func (d *Device) StorageBlockLimit() int64 { return d.info.Limits.StorageBlockSize }

// Supports tells whether the driver has a capability, see Capabilities.Supports, or a GL
// extension by its full name.
func (d *Device) Supports(name string) bool {
	_, extension := slices.BinarySearch(d.info.Extensions, name)
	return extension || d.info.Capabilities.Supports(name)
}

// Dispatch starts a program with groupsX workgroups along x.
func (d *Device) Dispatch(program Program, groupsX uint32) {
	if d.current != program {
		gl.UseProgram(program.Program)
		d.current = program
	}
	gl.DispatchCompute(groupsX, 1, 1)
}

// DispatchIndirect starts a program with the three group counts that lie at a
// byte offset of a buffer, a multiple of 4.
func (d *Device) DispatchIndirect(program Program, buffer Buffer, offset int) {
	if d.current != program {
		gl.UseProgram(program.Program)
		d.current = program
	}
	gl.BindBuffer(gl.DISPATCH_INDIRECT_BUFFER, buffer.Buffer)
	gl.DispatchComputeIndirect(offset)
}

// Barrier orders the writes of shaders before later reads by shaders, by ReadBuffer and
// CopyBuffer, of indirect dispatch commands, and by LoadMapped once a fence behind the
// barrier is done.
func (d *Device) Barrier() { gl.MemoryBarrier(d.barrier) }

// Finish waits until the device has done all it was given.
func (d *Device) Finish() { gl.Finish() }

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
		errs = append(errs, fmt.Errorf("OpenGL: %s", errorName(code)))
	}
	return errors.Join(errs...)
}

// own runs a GL call and returns the error that it alone caused; errors pending
// from before are kept for Check.
func (d *Device) own(call func()) error {
	if err := takeErrors(); err != nil {
		d.pending = errors.Join(d.pending, err)
	}
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

//go:embed shaders/selftest.comp
var selfTestSource string

const (
	selfTestWidth  = 64 // local_size_x in the shader
	selfTestGroups = 16
)

// SelfTest compiles and runs a small kernel and compares every number it wrote
// with the one computed here. Unlike the other methods that touch GL it calls
// Do itself. It leaves nothing on the device.
func (d *Device) SelfTest() error {
	return d.Do(func() error {
		got, err := d.runSelfTest()
		if err != nil {
			return fmt.Errorf("OpenGL: self-test: %w", err)
		}
		return checkSelfTest(got)
	})
}

func (d *Device) runSelfTest() ([]byte, error) {
	program, err := d.CompileCompute(selfTestSource)
	if err != nil {
		return nil, err
	}
	defer d.DeleteProgram(program)
	out := make([]byte, 4*(1+selfTestWidth*selfTestGroups))
	buffer, err := d.NewBuffer(len(out))
	if err != nil {
		return nil, err
	}
	defer d.DeleteBuffer(buffer)
	d.BindStorage(0, buffer, 0, len(out))
	d.Dispatch(program, selfTestGroups)
	d.Barrier()
	d.ReadBuffer(buffer, 0, out)
	return out, d.Check()
}

// checkSelfTest repeats the shader's arithmetic.
func checkSelfTest(got []byte) error {
	const n = selfTestWidth * selfTestGroups
	if count := binary.LittleEndian.Uint32(got); count != n {
		return fmt.Errorf("OpenGL: self-test: %d of %d invocations counted", count, n)
	}
	for i := range uint32(n) {
		first := i / selfTestWidth * selfTestWidth
		sum := first*selfTestWidth + selfTestWidth*(selfTestWidth-1)/2
		want := i*2654435761 ^ sum
		if v := binary.LittleEndian.Uint32(got[4+4*i:]); v != want {
			return fmt.Errorf("OpenGL: self-test: invocation %d wrote %#x, want %#x", i, v, want)
		}
	}
	return nil
}
