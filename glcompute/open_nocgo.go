//go:build !cgo || !linux

package glcompute

import (
	"errors"
	"fmt"
	"runtime"

	"ringmaster/megakernel/gpu"
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
func Devices() ([]Listed, error) {
	return nil, fmt.Errorf("OpenGL: list devices: %w", errBuild)
}

// Device has the methods that it has in a build with OpenGL. Open never makes
// one here, so none of them can be called.
type Device struct{ gpu.Device }

func (d *Device) Close() error                   { return errBuild }
func (d *Device) Describe(Units)                 {}
func (d *Device) Info() Info                     { return Info{} }
func (d *Device) SelfTest() error                { return errBuild }
func (d *Device) Memory() (m Memory, known bool) { return Memory{}, false }
func (d *Device) OpenShared() (*Device, error)   { return nil, errBuild }
