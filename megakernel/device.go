package megakernel

// Device is a GL 4.3 compute context as the engine needs it, in standard
// types, so that the package which owns cgo satisfies it without importing
// this one. Do may be called from any goroutine; every other method that
// touches GL must be called from inside Do. Sizes and offsets are bytes.
type Device interface {
	// Do runs fn on the context's thread and returns its error.
	Do(fn func() error) error

	// Identity names the driver: GL_VENDOR, GL_RENDERER, GL_VERSION.
	Identity() (vendor, renderer, version string)
	// WorkgroupLimits are the device limits along x and in total.
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
	Check() error
}
