package gpu

import "errors"

// Names of objects on the device. The zero value names none. Each is a type of its
// own, so that the compiler refuses a program where a buffer belongs.
type (
	Buffer  struct{ Buffer uint32 }
	Program struct{ Program uint32 }
	Query   struct{ Query uint32 }
	Fence   struct{ Fence uintptr }
)

// Device is an OpenGL 4.3 compute context. Its three parts say who may call what. An
// error for which Lost holds means that the context is gone for good, with everything
// on it. Sizes and offsets are bytes.
type Device interface {
	Caller
	Recorder
	Mapped
}

// Caller is what any goroutine may call, at any time.
type Caller interface {
	// Do runs fn on the context's thread, one function at a time, and returns its error.
	Do(fn func() error) error

	// Identity names the driver: GL_VENDOR, GL_RENDERER, GL_VERSION.
	Identity() (vendor, renderer, version string)
	// Software tells whether the driver computes on the host's processors.
	Software() bool
	// WorkgroupLimits are the device limits along x and in total. With a 0 among them
	// nothing can run.
	WorkgroupLimits() (sizeX, groupsX, invocations uint32)
	// Units are what runs workgroups independently of each other, the invocations that
	// each of them holds at once, and those of a subgroup; 0 where it is not known.
	Units() (count, lanes, subgroup uint32)
	// StorageBlockLimit is the largest storage block in bytes.
	StorageBlockLimit() int64
	// StorageBlocks is how many storage blocks a compute shader may have; OpenGL 4.3
	// promises 8.
	StorageBlocks() uint32
	// Supports tells whether the driver has buffer-storage (NewMapped),
	// program-binary, timestamp, robustness (resets are reported), subgroups (ballot and
	// arithmetic operations in compute shaders), or a GL extension by its full name.
	Supports(name string) bool
}

// Mapped is memory of NewMapped that host and device share. Any goroutine may call it,
// also while a function runs in Do. A deleted buffer takes nothing and reads as it is
// or 0; a range outside a buffer panics.
type Mapped interface {
	StoreMapped(buffer Buffer, offset int, data []byte)
	LoadMapped(buffer Buffer, offset int, dst []byte)
	// StoreWord and LoadWord transfer one word at a multiple of 4, with release and
	// acquire order.
	StoreWord(buffer Buffer, offset int, value uint32)
	LoadWord(buffer Buffer, offset int) uint32
}

// Recorder is what only a function in Do may call: it runs on the context's thread.
type Recorder interface {
	// CompileCompute builds a program; the error carries the driver's log.
	CompileCompute(source string) (Program, error)
	DeleteProgram(program Program)
	// ProgramWorkgroupSize is the local size the driver reports for a program.
	ProgramWorkgroupSize(program Program) [3]uint32
	// UniformLocation is -1 if the program has no such active uniform.
	UniformLocation(program Program, name string) int32
	SetUniform(program Program, location int32, value uint32)
	// ProgramBinary is a program in the driver's own form, from which
	// LoadProgramBinary of the same driver makes the program again; it is an error
	// if the driver refuses. Without program-binary both wrap errors.ErrUnsupported.
	ProgramBinary(program Program) (format uint32, data []byte, err error)
	LoadProgramBinary(format uint32, data []byte) (Program, error)

	// NewBuffer makes a buffer of zeros.
	NewBuffer(size int) (Buffer, error)
	// NewMapped makes a buffer of zeros that stays mapped, coherently, until
	// DeleteBuffer; WriteBuffer does not reach it. Without buffer-storage the
	// error wraps errors.ErrUnsupported.
	NewMapped(size int) (Buffer, error)
	DeleteBuffer(buffer Buffer)
	WriteBuffer(buffer Buffer, offset int, data []byte)
	ReadBuffer(buffer Buffer, offset int, dst []byte)
	CopyBuffer(src Buffer, srcOffset int, dst Buffer, dstOffset, size int)
	// ClearBuffer sets bytes to zero.
	ClearBuffer(buffer Buffer, offset, size int)
	// BindStorage binds a range of a buffer to a storage-block binding point.
	BindStorage(binding uint32, buffer Buffer, offset, size int)

	Dispatch(program Program, groupsX uint32)
	// DispatchIndirect takes the three group counts from a byte offset of a
	// buffer, a multiple of 4. The host must not read that buffer afterwards, only a copy
	// of it: a driver hands out stale words (docs/drivers.md).
	DispatchIndirect(program Program, buffer Buffer, offset int)
	// Barrier orders shader writes before whatever reads them later: shaders, indirect
	// dispatches, buffer reads and copies, and LoadMapped once a fence behind the
	// barrier is done.
	Barrier()

	// InsertFence marks the commands so far; WaitFence waits for them, at most
	// timeoutNs nanoseconds, with 0 it asks. Fences work across the contexts of
	// a share group, queries do not.
	InsertFence() Fence
	WaitFence(fence Fence, timeoutNs uint64) (done bool, err error)
	DeleteFence(fence Fence)
	// Flush sends what was given on to the device, Finish waits for it.
	Flush()
	Finish()
	// Check returns the pending GL error or the loss of the context, if any: it asks the
	// driver whether the GPU was reset.
	Check() error

	NewQuery() Query
	DeleteQuery(query Query)
	// Timestamp records the device's time in a query when the commands before
	// it are done. Only with the capability timestamp.
	Timestamp(query Query)
	// QueryResult is that time in nanoseconds from an unknown begin, once it is there.
	QueryResult(query Query) (ns uint64, ready bool)
}

// Lost tells whether an error of a device says that its context is gone: the
// error, or one that it wraps, has a method Lost that returns true. Retrying on
// the same device is no use then.
func Lost(err error) bool {
	var loss interface{ Lost() bool }
	return errors.As(err, &loss) && loss.Lost()
}
