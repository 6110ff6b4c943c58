//go:build !cgo || !linux

package glcompute

import (
	"errors"
	"fmt"
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

// Devices reports that this build has no devices.
func Devices(Config) ([]Listed, error) {
	return nil, fmt.Errorf("glcompute: list devices: %w", errBuild)
}

// Device has the methods that it has in a build with OpenGL. Open never makes
// one here, so none of them can be called.
type Device struct{}

// unreachable marks the body of a method that needs a Device.
func unreachable() { panic(errBuild) }

func (d *Device) Do(func() error) error                           { unreachable(); return nil }
func (d *Device) Close() error                                    { unreachable(); return nil }
func (d *Device) Live() (buffers, programs int)                   { unreachable(); return 0, 0 }
func (d *Device) Describe(Units)                                  { unreachable() }
func (d *Device) Info() Info                                      { unreachable(); return Info{} }
func (d *Device) SelfTest() error                                 { unreachable(); return nil }
func (d *Device) Identity() (vendor, renderer, version string)    { unreachable(); return "", "", "" }
func (d *Device) Memory() (m Memory, known bool)                  { unreachable(); return Memory{}, false }
func (d *Device) WorkgroupLimits() (sizeX, groupsX, total uint32) { unreachable(); return 0, 0, 0 }
func (d *Device) Units() (count, lanes, subgroup uint32)          { unreachable(); return 0, 0, 0 }
func (d *Device) Software() bool                                  { unreachable(); return false }
func (d *Device) StorageBlocks() uint32                           { unreachable(); return 0 }
func (d *Device) StorageBlockLimit() int64                        { unreachable(); return 0 }
func (d *Device) CompileCompute(string) (Program, error)          { unreachable(); return Program{}, nil }
func (d *Device) DeleteProgram(Program)                           { unreachable() }
func (d *Device) ProgramWorkgroupSize(Program) [3]uint32          { unreachable(); return [3]uint32{} }
func (d *Device) StorageOffset(Program, string) (int, int, error) { unreachable(); return 0, 0, nil }
func (d *Device) UniformLocation(Program, string) int32           { unreachable(); return -1 }
func (d *Device) SetUniform(Program, int32, uint32)               { unreachable() }
func (d *Device) NewBuffer(int) (Buffer, error)                   { unreachable(); return Buffer{}, nil }
func (d *Device) DeleteBuffer(Buffer)                             { unreachable() }
func (d *Device) WriteBuffer(Buffer, int, []byte)                 { unreachable() }
func (d *Device) ReadBuffer(Buffer, int, []byte)                  { unreachable() }
func (d *Device) BindStorage(uint32, Buffer, int, int)            { unreachable() }
func (d *Device) Dispatch(Program, uint32)                        { unreachable() }
func (d *Device) Finish()                                         { unreachable() }
func (d *Device) Check() error                                    { unreachable(); return nil }
func (d *Device) Supports(string) bool                            { unreachable(); return false }
func (d *Device) OpenShared() (*Device, error)                    { unreachable(); return nil, nil }
func (d *Device) ProgramBinary(Program) (uint32, []byte, error)   { unreachable(); return 0, nil, nil }
func (d *Device) LoadProgramBinary(uint32, []byte) (Program, error) {
	unreachable()
	return Program{}, nil
}
func (d *Device) DispatchIndirect(Program, Buffer, int)    { unreachable() }
func (d *Device) Barrier()                                 { unreachable() }
func (d *Device) CopyBuffer(Buffer, int, Buffer, int, int) { unreachable() }
func (d *Device) ClearBuffer(Buffer, int, int)             { unreachable() }
func (d *Device) InsertFence() Fence                       { unreachable(); return Fence{} }
func (d *Device) WaitFence(Fence, uint64) (bool, error)    { unreachable(); return false, nil }
func (d *Device) DeleteFence(Fence)                        { unreachable() }
func (d *Device) Flush()                                   { unreachable() }
func (d *Device) NewQuery() Query                          { unreachable(); return Query{} }
func (d *Device) DeleteQuery(Query)                        { unreachable() }
func (d *Device) Timestamp(Query)                          { unreachable() }
func (d *Device) QueryResult(Query) (uint64, bool)         { unreachable(); return 0, false }
func (d *Device) NewMapped(int) (Buffer, error)            { unreachable(); return Buffer{}, nil }
func (d *Device) StoreMapped(Buffer, int, []byte)          { unreachable() }
func (d *Device) LoadMapped(Buffer, int, []byte)           { unreachable() }
func (d *Device) StoreWord(Buffer, int, uint32)            { unreachable() }
func (d *Device) LoadWord(Buffer, int) uint32              { unreachable(); return 0 }
func (d *Device) GraphicsReset() uint32                    { unreachable(); return 0 }
