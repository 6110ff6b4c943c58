//go:build cgo && linux

package glcompute

import (
	"fmt"
	"strconv"
	"strings"
)

// eglWay is one way to a context through EGL.
type eglWay struct {
	backend  string
	detail   string
	software bool // known to lead to a software renderer
	platform int
	native   uintptr
	err      error // why the way is closed before it is tried
}

func (w eglWay) open(lib *eglLibrary) (*eglContext, error) {
	if w.err != nil {
		return nil, w.err
	}
	return newEGLContext(lib, w.platform, w.native)
}

// ways lists what to try, in the order the package comment gives.
func (e *eglLibrary) ways(cfg Config) []eglWay {
	client := e.clientExtensions()
	devices := e.deviceWays(client)
	if cfg.Device != "" {
		return selectDevice(devices, cfg.Device)
	}
	surfaceless := eglWay{backend: "egl-surfaceless", platform: eglPlatformSurfaceless}
	if !client[extPlatformSurfaceless] {
		surfaceless.err = fmt.Errorf("glcompute: libEGL has no %s", extPlatformSurfaceless)
	}
	var hardware, soft []eglWay
	for _, w := range devices {
		if w.software {
			soft = append(soft, w)
		} else {
			hardware = append(hardware, w)
		}
	}
	ways := append(hardware, surfaceless, eglWay{backend: "egl-default"})
	return append(ways, soft...)
}

// deviceWays lists the devices of the device platform, or the one reason why
// there are none.
func (e *eglLibrary) deviceWays(client extensions) []eglWay {
	closed := func(err error) []eglWay { return []eglWay{{backend: "egl-device", err: err}} }
	if !client[extDeviceBase] && !client[extDeviceEnumeration] {
		return closed(fmt.Errorf("glcompute: libEGL cannot list devices (no %s)", extDeviceEnumeration))
	}
	if !client[extPlatformDevice] {
		return closed(fmt.Errorf("glcompute: libEGL has no %s", extPlatformDevice))
	}
	devices, err := e.devices()
	if err != nil {
		return closed(err)
	}
	if len(devices) == 0 {
		return closed(fmt.Errorf("glcompute: eglQueryDevicesEXT lists no device"))
	}
	ways := make([]eglWay, len(devices))
	for i, device := range devices {
		ways[i] = e.deviceWay(i, len(devices), device)
	}
	return ways
}

func (e *eglLibrary) deviceWay(index, of int, device uintptr) eglWay {
	w := eglWay{backend: "egl-device", platform: eglPlatformDevice, native: device}
	parts := []string{fmt.Sprintf("device %d of %d", index, of)}
	ext := parseExtensions(e.deviceString(device, eglExtensions))
	if ext[extDeviceDRM] {
		parts = append(parts, e.deviceString(device, eglDRMDeviceFile))
	}
	if ext[extDeviceDRMRenderNode] {
		parts = append(parts, e.deviceString(device, eglDRMRenderNodeFile))
	}
	if w.software = ext[extDeviceSoftware]; w.software {
		parts = append(parts, "software")
	}
	w.detail = strings.Join(parts, " ")
	return w
}

// selectDevice keeps the one device that was asked for.
func selectDevice(ways []eglWay, want string) []eglWay {
	index, err := strconv.Atoi(want)
	for i, w := range ways {
		listed := w.native != 0
		if !listed || err == nil && i == index || err != nil && strings.Contains(w.detail+" ", " "+want+" ") {
			return []eglWay{w}
		}
	}
	return []eglWay{{
		backend: "egl-device",
		err:     fmt.Errorf("glcompute: device %q is not among the %d that EGL lists", want, len(ways)),
	}}
}

// openEGL follows the ways until one leads to hardware, or settles for the first
// that leads to software. The context is current on the calling thread.
func openEGL(cfg Config) (*eglContext, []Attempt) {
	lib, err := loadEGL(cfg.eglLibrary())
	if err != nil {
		return nil, []Attempt{{Backend: "egl", Detail: cfg.eglLibrary(), Err: err}}
	}
	var held *eglContext // on software, kept in case nothing better comes
	var attempts []Attempt
	heldAt := 0
	for _, w := range lib.ways(cfg) {
		if held != nil && w.software {
			continue
		}
		c, err := w.open(lib)
		attempts = append(attempts, w.attempt(c, err))
		if err != nil {
			continue
		}
		if !software(c.renderer) {
			if held != nil {
				held.release()
			}
			return settle(c, attempts, len(attempts)-1)
		}
		attempts[len(attempts)-1].Err = ErrSoftware
		if held == nil {
			held, heldAt = c, len(attempts)-1
		} else {
			c.release()
		}
	}
	if held == nil {
		return nil, attempts
	}
	return settle(held, attempts, heldAt)
}

// settle makes the chosen context current; another may have been since.
func settle(c *eglContext, attempts []Attempt, at int) (*eglContext, []Attempt) {
	if attempts[at].Err = c.makeCurrent(); attempts[at].Err != nil {
		c.release()
		return nil, attempts
	}
	return c, attempts
}

func (w eglWay) attempt(c *eglContext, err error) Attempt {
	a := Attempt{Backend: w.backend, Detail: w.detail, Err: err}
	if c != nil {
		if a.Detail != "" {
			a.Detail += ", "
		}
		a.Detail += c.renderer + ", OpenGL " + c.version
	}
	return a
}

// probeEGL opens and closes every way, software devices included.
func probeEGL(cfg Config) []Attempt {
	lib, err := loadEGL(cfg.eglLibrary())
	if err != nil {
		return []Attempt{{Backend: "egl", Detail: cfg.eglLibrary(), Err: err}}
	}
	var attempts []Attempt
	for _, w := range lib.ways(cfg) {
		c, err := w.open(lib)
		attempts = append(attempts, w.attempt(c, err))
		if err == nil {
			c.release()
		}
	}
	return attempts
}
