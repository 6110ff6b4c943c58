//go:build !cgo || !linux

package glcompute

import (
	"errors"
	"runtime"
)

// errBuild is the reason why this build opens no device.
var errBuild = errors.New("built without OpenGL, which needs cgo and Linux (CGO_ENABLED=1 GOOS=linux; this is " + runtime.GOOS + ")")

// Open returns an *UnavailableError: this build has no OpenGL.
func Open(cfg Config) (*Device, []Attempt, error) {
	attempts, err := Probe(cfg)
	if err != nil {
		return nil, nil, err
	}
	return nil, attempts, &UnavailableError{
		Attempts: attempts,
		Advice:   "Build with CGO_ENABLED=1 on Linux, with a C compiler and libegl-dev installed",
	}
}

// Probe reports the one way that this build does not have.
func Probe(cfg Config) ([]Attempt, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return []Attempt{{Backend: "build", Err: errBuild}}, nil
}

// Device has the methods that it has in a build with OpenGL. Open never makes
// one here, so none of them can be called.
type Device struct{}

// unreachable marks the body of a method that needs a Device.
func unreachable() { panic(errBuild) }

func (d *Device) Do(func() error) error                             { unreachable(); return nil }
func (d *Device) Close() error                                      { unreachable(); return nil }
func (d *Device) Live() (buffers, programs int)                     { unreachable(); return 0, 0 }
func (d *Device) Info() Info                                        { unreachable(); return Info{} }
func (d *Device) SelfTest() error                                   { unreachable(); return nil }
func (d *Device) Identity() (vendor, renderer, version string)      { unreachable(); return "", "", "" }
func (d *Device) WorkgroupLimits() (sizeX, groupsX, total uint32)   { unreachable(); return 0, 0, 0 }
func (d *Device) StorageBlockLimit() int64                          { unreachable(); return 0 }
func (d *Device) CompileCompute(string) (uint32, error)             { unreachable(); return 0, nil }
func (d *Device) DeleteProgram(uint32)                              { unreachable() }
func (d *Device) ProgramWorkgroupSize(uint32) [3]uint32             { unreachable(); return [3]uint32{} }
func (d *Device) StorageOffset(uint32, string) (int, int, error)    { unreachable(); return 0, 0, nil }
func (d *Device) UniformLocation(uint32, string) int32              { unreachable(); return -1 }
func (d *Device) SetUniform(uint32, int32, uint32)                  { unreachable() }
func (d *Device) NewBuffer(int) (uint32, error)                     { unreachable(); return 0, nil }
func (d *Device) DeleteBuffer(uint32)                               { unreachable() }
func (d *Device) WriteBuffer(uint32, int, []byte)                   { unreachable() }
func (d *Device) ReadBuffer(uint32, int, []byte)                    { unreachable() }
func (d *Device) BindStorage(binding, buffer uint32, off, size int) { unreachable() }
func (d *Device) Dispatch(program, groupsX uint32)                  { unreachable() }
func (d *Device) StorageBarrier()                                   { unreachable() }
func (d *Device) Finish()                                           { unreachable() }
func (d *Device) BeginTimer()                                       { unreachable() }
func (d *Device) EndTimer() uint64                                  { unreachable(); return 0 }
func (d *Device) Check() error                                      { unreachable(); return nil }
