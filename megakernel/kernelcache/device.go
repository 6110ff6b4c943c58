package kernelcache

import "ringmaster/megakernel/gpu"

// Device is the part of a GL compute context that building programs needs. Do,
// Identity and Supports may be called from any goroutine, the rest inside Do.
type Device interface {
	// Do runs fn on the context's thread and returns its error.
	Do(fn func() error) error
	// Identity names the driver: GL_VENDOR, GL_RENDERER, GL_VERSION.
	Identity() (vendor, renderer, version string)
	// Supports tells whether the driver has a capability; program-binary is
	// the one that is asked for.
	Supports(capability string) bool

	// CompileCompute builds a program; the error carries the driver's log.
	CompileCompute(source string) (gpu.Program, error)
	DeleteProgram(program gpu.Program)
	// ProgramBinary is a program in the driver's own form, LoadProgramBinary
	// makes a program of that again.
	ProgramBinary(program gpu.Program) (format uint32, data []byte, err error)
	LoadProgramBinary(format uint32, data []byte) (gpu.Program, error)

	// Finish waits until the device has done all it was given.
	Finish()
	// Check returns the pending GL error or the loss of the context, if any.
	Check() error
}

// Target is where a store builds.
type Target[K comparable, V any] struct {
	Device Device
	// Background says that Device is a context of its own, beside the one
	// that launches run on and in its share group. The store then builds on
	// a goroutine, else in BuildOne and Wait.
	Background bool
	// Adopt checks a linked program, finds what the caller needs to use it,
	// and dispatches it once with nothing to do. Called inside Do. After an
	// error the program is deleted and the key fails.
	Adopt func(key K, program gpu.Program) (V, error)
}
