//go:build cgo && linux

package glcompute

import (
	"errors"
	"fmt"
	"sync"

	"github.com/go-gl/gl/v4.3-core/gl"
)

// The OpenGL version that everything here is written for.
const (
	minMajor = 4
	minMinor = 3
)

// eglFile is given to dlopen: the name under which the vendor-neutral dispatch
// library and a vendor's own both install themselves. Tests take it away.
var eglFile = "libEGL.so.1"

// egl and glfw tell which backends a configuration allows.
func (c Config) egl() bool  { return c.Backend != GLFW }
func (c Config) glfw() bool { return c.Backend != EGL && c.Device == "" }

// context is a GL context of either backend; its methods are called on the
// device's thread.
type context interface {
	// proc is the address of a GL function, 0 if the library has none.
	proc(name string) uintptr
	// loadGL fills go-gl's table of functions.
	loadGL() error
	// share makes a context that shares this one's objects and makes it
	// current on the calling thread, which is not this one's.
	share() (context, error)
	release()
}

// Open makes a device by the first way that works, see the package comment. The
// attempts are returned in either case; without a device the error is an
// *UnavailableError that holds them too, or one about the configuration itself.
func Open(cfg Config) (*Device, []Attempt, error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	var attempts []Attempt
	var taken *Attempt
	d, err := onThread(newObjects(), func() (c context, _ Attempt, err error) {
		if c, attempts = openContext(cfg); c == nil {
			return nil, Attempt{}, errors.New("no way leads to a context")
		}
		for i := range attempts {
			if attempts[i].Err == nil {
				taken = &attempts[i]
			}
		}
		return c, *taken, nil
	})
	if err != nil {
		if taken != nil {
			taken.Err = err
		}
		return nil, attempts, unavailable(cfg, attempts)
	}
	return d, attempts, nil
}

// onThread makes a device on a thread of its own, whose share group has the objects o. On
// that thread open makes a context and leaves it current.
func onThread(o *objects, open func() (context, Attempt, error)) (*Device, error) {
	thread := NewThread()
	var d *Device
	err := thread.Do(func() error {
		c, taken, err := open()
		if err != nil {
			return err
		}
		if d, err = newDevice(c, taken, o); err != nil {
			c.release()
		}
		return err
	})
	if err != nil {
		thread.Close()
		return nil, err
	}
	d.thread = thread
	return d, nil
}

func openContext(cfg Config) (context, []Attempt) {
	var attempts []Attempt
	if cfg.egl() {
		c, tried := choose(eglWays(cfg))
		attempts = append(attempts, tried...)
		if c != nil {
			return c, attempts
		}
	}
	if cfg.glfw() {
		c, tried := choose([]way{glfwWay(cfg)})
		attempts = append(attempts, tried...)
		if c != nil {
			return c, attempts
		}
	}
	return nil, attempts
}

// Probe tries every way that the configuration allows, also after one worked,
// closes what it opened and returns the attempts.
func Probe(cfg Config) ([]Attempt, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	thread := NewThread()
	defer thread.Close()
	var attempts []Attempt
	err := thread.Do(func() error {
		if cfg.egl() {
			attempts = probe(eglWays(cfg))
		}
		if cfg.glfw() {
			attempts = append(attempts, probe([]way{glfwWay(cfg)})...)
		}
		return nil
	})
	return attempts, err
}

// unavailable adds to the attempts what helps. Nothing needs to be installed where
// the devices that there are could be listed.
func unavailable(cfg Config, attempts []Attempt) error {
	err := &UnavailableError{Attempts: attempts}
	if !errors.Is(err, ErrNoDevice) {
		err.Advice = advice(cfg)
	}
	return err
}

func advice(cfg Config) string {
	s := "On Debian and Ubuntu, install libegl1 and libgl1-mesa-dri for OpenGL on the CPU; " +
		"for an NVIDIA GPU, install its driver with the EGL library (libnvidia-gl-VERSION on Ubuntu, libegl-nvidia0 on Debian; in a container, the driver capability graphics)"
	if cfg.Backend == GLFW {
		s = "The glfw backend needs an X display (DISPLAY) and libgl1; without a display use the egl backend"
	}
	return s
}

// glTable guards go-gl's table of functions, which is the process's. The vendor-neutral
// library hands out the same entry points for every driver and for both
// backends, so it is filled once, and not under the hands of another thread.
var glTable struct {
	sync.Mutex
	loaded bool
}

func loadGL(c context) error {
	glTable.Lock()
	defer glTable.Unlock()
	if glTable.loaded {
		return nil
	}
	if err := c.loadGL(); err != nil {
		return fmt.Errorf("OpenGL: the driver lacks a function of OpenGL 4.3: %w", err)
	}
	glTable.loaded = true
	return nil
}

// checkVersion reads the version of the current context.
func checkVersion() error {
	var major, minor int32
	gl.GetIntegerv(gl.MAJOR_VERSION, &major)
	gl.GetIntegerv(gl.MINOR_VERSION, &minor)
	if major < minMajor || major == minMajor && minor < minMinor {
		return fmt.Errorf("OpenGL %d.%d, need %d.%d or newer", major, minor, minMajor, minMinor)
	}
	return nil
}

// OpenShared opens a second context in the share group of d, on a thread of its
// own: buffers, programs and fences made by one are those of the other too,
// queries are not. What one context wrote another sees after a fence that the
// first inserted was waited for. Either may be closed first.
func (d *Device) OpenShared() (*Device, error) {
	shared, err := onThread(d.objects, func() (context, Attempt, error) {
		c, err := d.context.share()
		return c, Attempt{Backend: d.info.Way, Detail: d.info.Detail}, err
	})
	if err != nil {
		return nil, fmt.Errorf("OpenGL: open a context beside another: %w", err)
	}
	return shared, nil
}
