package megakernel

import "errors"

// Device is a GL 4.3 compute context as the engine needs it, in standard
// types, so that the package which owns cgo satisfies it without importing
// this one. Do and the methods that say so may be called from any goroutine; every
// other method that touches GL must be called from inside Do. Sizes and offsets
// are bytes.
//
// An error for which Lost holds means that the context is gone for good, with
// everything on it.
type Device interface {
	// Do runs fn on the context's thread and returns its error.
	Do(fn func() error) error

	// Identity names the driver: GL_VENDOR, GL_RENDERER, GL_VERSION.
	Identity() (vendor, renderer, version string)
	// WorkgroupLimits are the device limits along x and in total. With a 0 among them
	// nothing can run, and New refuses the device.
	WorkgroupLimits() (sizeX, groupsX, invocations uint32)
	// StorageBlockLimit is the largest storage block in bytes.
	StorageBlockLimit() int64

	// CompileCompute builds a program; the error carries the driver's log
	// and the numbered source lines it names.
	CompileCompute(source string) (program uint32, err error)
	DeleteProgram(program uint32)
	// ProgramWorkgroupSize is the local size the driver reports for a program.
	ProgramWorkgroupSize(program uint32) [3]uint32
	// StorageOffset asks the driver for the offset and the array stride of a
	// storage-block variable, by its full interface name.
	StorageOffset(program uint32, name string) (offset, stride int, err error)
	// UniformLocation is -1 if the program has no such active uniform.
	UniformLocation(program uint32, name string) int32
	SetUniform(program uint32, location int32, value uint32)

	// NewBuffer makes a buffer of zeros.
	NewBuffer(size int) (buffer uint32, err error)
	DeleteBuffer(buffer uint32)
	WriteBuffer(buffer uint32, offset int, data []byte)
	ReadBuffer(buffer uint32, offset int, dst []byte)
	// BindStorage binds a range of a buffer to a storage-block binding point.
	BindStorage(binding, buffer uint32, offset, size int)

	Dispatch(program uint32, groupsX uint32)
	// StorageBarrier orders shader writes before later shader reads and buffer reads.
	StorageBarrier()
	Finish()
	// BeginTimer and EndTimer bracket dispatches with an elapsed-time query;
	// EndTimer waits for the result, in nanoseconds, unchecked.
	BeginTimer()
	EndTimer() uint64
	// Check returns the pending GL error or the loss of the context, if any.
	// A loss is an error for which Lost holds.
	Check() error
	// GraphicsReset asks whether the GPU was reset under the context, without
	// an error for it: one of the Reset constants. Any other value is no answer.
	GraphicsReset() uint32

	// Supports tells whether the driver has buffer-storage (NewMapped),
	// program-binary, timestamp, or robustness (resets are reported). It may be
	// called from any goroutine.
	Supports(name string) bool

	// ProgramBinary is a program in the driver's own form, from which
	// LoadProgramBinary of the same driver makes the program again; it is an error
	// if the driver refuses. Without program-binary both wrap errors.ErrUnsupported.
	ProgramBinary(program uint32) (format uint32, data []byte, err error)
	LoadProgramBinary(format uint32, data []byte) (program uint32, err error)

	// DispatchIndirect takes the three group counts from a byte offset of a
	// buffer, a multiple of 4.
	DispatchIndirect(program, buffer uint32, offset int)
	// CommandBarrier orders shader writes before later indirect dispatches,
	// shader reads, buffer reads and copies, and before what LoadMapped reads
	// once a fence behind the barrier is done.
	CommandBarrier()
	CopyBuffer(src uint32, srcOffset int, dst uint32, dstOffset, size int)
	// ClearBuffer sets bytes to zero.
	ClearBuffer(buffer uint32, offset, size int)

	// InsertFence marks the commands so far; WaitFence waits for them, at most
	// timeoutNs nanoseconds, with 0 it asks. Fences work across the contexts of
	// a share group, queries do not.
	InsertFence() (fence uintptr)
	WaitFence(fence uintptr, timeoutNs uint64) (done bool, err error)
	DeleteFence(fence uintptr)
	// Flush sends what was given on to the device.
	Flush()

	NewQuery() (query uint32)
	DeleteQuery(query uint32)
	// Timestamp records the device's time in a query when the commands before
	// it are done. Only with the capability timestamp.
	Timestamp(query uint32)
	// QueryResult is that time in nanoseconds from an unknown begin, once it is there.
	QueryResult(query uint32) (ns uint64, ready bool)

	// NewMapped makes a buffer of zeros that stays mapped, coherently, until
	// DeleteBuffer; WriteBuffer does not reach it. Without buffer-storage the
	// error wraps errors.ErrUnsupported.
	NewMapped(size int) (buffer uint32, err error)
	// StoreMapped and LoadMapped copy, StoreWord and LoadWord transfer one word
	// at a multiple of 4 with release and acquire order. They may be called from
	// any goroutine, also while a function runs in Do. A deleted buffer takes
	// nothing and reads as it is or 0; a range outside a buffer panics.
	StoreMapped(buffer uint32, offset int, data []byte)
	LoadMapped(buffer uint32, offset int, dst []byte)
	StoreWord(buffer uint32, offset int, value uint32)
	LoadWord(buffer uint32, offset int) uint32
}

// The answers of Device.GraphicsReset.
const (
	ResetNone     uint32 = iota // no reset
	ResetGuilty                 // caused by this context
	ResetInnocent               // caused by another context
	ResetUnknown                // cause unknown
)

// Lost tells whether an error of a device says that its context is gone: the
// error, or one that it wraps, has a method Lost that returns true. Retrying on
// the same device is no use then; see Engine.Move.
func Lost(err error) bool {
	var loss interface{ Lost() bool }
	return errors.As(err, &loss) && loss.Lost()
}
