package glcompute

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
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

	// Display is the value of DISPLAY. GLFW reads the environment itself; this tells
	// whether to try it at all, because its binding panics without a display.
	Display string
}

// Validate reports every field whose value makes no sense.
func (c Config) Validate() error {
	var errs []error
	switch c.Backend {
	case "", Auto, EGL, GLFW:
	default:
		errs = append(errs, fmt.Errorf("OpenGL: backend %q: want auto, egl or glfw", c.Backend))
	}
	if c.Device != "" {
		if _, err := parseSelector(c.Device); err != nil {
			errs = append(errs, err)
		}
		if c.Backend == GLFW {
			errs = append(errs, errors.New("OpenGL: the glfw backend cannot select a device"))
		}
	}
	return errors.Join(errs...)
}

// Listed is a device of EGL's device platform, as Devices found it.
type Listed struct {
	Index    int      // its place in the driver's list, which can change with a reboot
	Nodes    []string // its DRM nodes, such as /dev/dri/renderD128
	Software bool     // it computes on the CPU
	UUID     string   // 32 hexadecimal digits, the same in every API and at every start; empty if unknown
	Vendor   string
	Renderer string
	Version  string
	Err      error // why it opens no OpenGL 4.3 context; vendor, renderer and version are empty then
}

// String names the device in one line, with what Config.Device takes in front.
func (l Listed) String() string {
	parts := []string{fmt.Sprintf("%d: %s", l.Index, l.Renderer)}
	if l.Err != nil {
		parts[0] = fmt.Sprintf("%d: %v", l.Index, l.Err)
	}
	if l.UUID != "" {
		parts = append(parts, "UUID "+l.UUID)
	}
	parts = append(parts, l.Nodes...)
	if l.Software {
		parts = append(parts, "software")
	}
	return strings.Join(parts, ", ")
}

// selector is what Config.Device asks for; one of its fields is set.
type selector struct {
	index int // -1 if another field is
	uuid  string
	node  string
}

// parseSelector reads the forms of Config.Device.
func parseSelector(s string) (selector, error) {
	if strings.HasPrefix(s, "/") {
		return selector{index: -1, node: s}, nil
	}
	if i, err := strconv.ParseUint(s, 10, 16); err == nil {
		return selector{index: int(i)}, nil
	}
	// NVIDIA's tools write GPU-01234567-89ab-cdef-0123-456789abcdef.
	digits := strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(s), "gpu-"), "-", "")
	if id, err := hex.DecodeString(digits); err == nil && len(id) == uuidBytes {
		return selector{index: -1, uuid: digits}, nil
	}
	return selector{}, fmt.Errorf("OpenGL: device %q: want an index from 0, a UUID of 32 hexadecimal digits, or the path of a DRM node", s)
}

// uuidBytes is the size of a device's UUID.
const uuidBytes = 16
