package glcompute

// The methods that the engine uses, in every build.
var _ interface {
	Do(fn func() error) error
	Identity() (vendor, renderer, version string)
	WorkgroupLimits() (sizeX, groupsX, invocations uint32)
	StorageBlockLimit() int64
	CompileCompute(source string) (program uint32, err error)
	DeleteProgram(program uint32)
	ProgramWorkgroupSize(program uint32) [3]uint32
	StorageOffset(program uint32, name string) (offset, stride int, err error)
	UniformLocation(program uint32, name string) int32
	SetUniform(program uint32, location int32, value uint32)
	NewBuffer(size int) (buffer uint32, err error)
	DeleteBuffer(buffer uint32)
	WriteBuffer(buffer uint32, offset int, data []byte)
	ReadBuffer(buffer uint32, offset int, dst []byte)
	BindStorage(binding, buffer uint32, offset, size int)
	Dispatch(program uint32, groupsX uint32)
	StorageBarrier()
	Finish()
	BeginTimer()
	EndTimer() uint64
	Check() error
	Close() error
	SelfTest() error
	Info() Info
	Live() (buffers, programs int)
} = (*Device)(nil)
