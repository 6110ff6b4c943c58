package glcompute

import (
	"errors"
	"fmt"
)

// Backend names the library that makes the context.
type Backend string

// The backends. The empty string means Auto.
const (
	Auto Backend = "auto"
	EGL  Backend = "egl"
	GLFW Backend = "glfw"
)

// Config says how to open a device. The zero value is ready for use: any
// backend, any GPU, no display for GLFW.
type Config struct {
	// Backend forces a backend; Auto (or empty) tries EGL, then GLFW.
	Backend Backend

	// Device selects one EGL device: its index in the driver's list, from
	// 0; its UUID as 32 hexadecimal digits, with or without dashes and the
	// GPU- that NVIDIA's tools put before it; or the path of its DRM node,
	// such as /dev/dri/card0. Empty means any. A selected device is the
	// only way tried, and it may be software.
	Device string

	// Display and WaylandDisplay are the values of DISPLAY and
	// WAYLAND_DISPLAY. GLFW reads the environment itself; these tell
	// whether to try it at all, because its binding panics without a display.
	Display, WaylandDisplay string

	// EGLLibrary is the file name given to dlopen; empty means
	// libEGL.so.1. The first name that loads serves the whole process.
	EGLLibrary string
}

// Validate reports every field whose value makes no sense.
func (c Config) Validate() error {
	var errs []error
	switch c.Backend {
	case "", Auto, EGL, GLFW:
	default:
		errs = append(errs, fmt.Errorf("glcompute: backend %q: want auto, egl or glfw", c.Backend))
	}
	if c.Device != "" {
		if _, err := parseSelector(c.Device); err != nil {
			errs = append(errs, err)
		}
		if c.Backend == GLFW {
			errs = append(errs, errors.New("glcompute: the glfw backend cannot select a device"))
		}
	}
	return errors.Join(errs...)
}
