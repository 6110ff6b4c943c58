//go:build cgo && linux

package glcompute

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// eglWays lists what to try with the library that a configuration names; one
// closed way if it cannot be loaded.
func eglWays(cfg Config) []way {
	lib, err := loadEGL(cfg.eglLibrary())
	if err != nil {
		return []way{closedWay("egl", cfg.eglLibrary(), err)}
	}
	client := lib.clientExtensions()
	devices, err := lib.deviceWays(client)
	if cfg.Device != "" {
		return []way{selectDevice(devices, cfg.Device, err)}
	}
	var hardware, soft []way
	if err != nil {
		hardware = []way{closedWay("egl-device", "", err)}
	}
	for _, w := range devices {
		if w.software {
			soft = append(soft, w)
		} else {
			hardware = append(hardware, w)
		}
	}
	surfaceless := lib.way("egl-surfaceless", eglPlatformSurfaceless, 0)
	if !client[extPlatformSurfaceless] {
		surfaceless = closedWay("egl-surfaceless", "", missingExtension(extPlatformSurfaceless))
	}
	ways := append(hardware, surfaceless, lib.way("egl-default", 0, 0))
	return append(ways, soft...)
}

func (e *eglLibrary) way(backend string, platform int, native uintptr) way {
	return way{backend: backend, open: func() (candidate, error) {
		c, err := newEGLContext(e, platform, native)
		if err != nil {
			return nil, err
		}
		return c, nil
	}}
}

// closedWay is known to lead nowhere before it is tried.
func closedWay(backend, detail string, err error) way {
	return way{backend: backend, detail: detail, open: func() (candidate, error) { return nil, err }}
}

func missingExtension(name string) error { return fmt.Errorf("libEGL has no %s", name) }

// deviceWays lists the devices of the device platform, or says why there are none.
func (e *eglLibrary) deviceWays(client extensions) ([]way, error) {
	if !client[extDeviceBase] && !client[extDeviceEnumeration] {
		return nil, missingExtension(extDeviceEnumeration)
	}
	if !client[extPlatformDevice] {
		return nil, missingExtension(extPlatformDevice)
	}
	devices, err := e.devices()
	if err != nil {
		return nil, err
	}
	if len(devices) == 0 {
		return nil, errors.New("eglQueryDevicesEXT lists no device")
	}
	ways := make([]way, len(devices))
	for i, device := range devices {
		w := e.way("egl-device", eglPlatformDevice, device)
		w.detail, w.software = e.describeDevice(device)
		w.detail = strings.TrimSpace(fmt.Sprintf("device %d of %d %s", i, len(devices), w.detail))
		ways[i] = w
	}
	return ways, nil
}

// describeDevice gives a device's DRM nodes and whether it is software.
func (e *eglLibrary) describeDevice(device uintptr) (detail string, software bool) {
	ext := parseExtensions(e.deviceString(device, eglExtensions))
	var parts []string
	for _, node := range []struct {
		extension string
		name      int
	}{{extDeviceDRM, eglDRMDeviceFile}, {extDeviceDRMRenderNode, eglDRMRenderNodeFile}} {
		if !ext[node.extension] {
			continue
		}
		if path := e.deviceString(device, node.name); path != "" {
			parts = append(parts, path)
		}
	}
	if ext[extDeviceSoftware] {
		parts = append(parts, "software")
	}
	return strings.Join(parts, " "), ext[extDeviceSoftware]
}

// selectDevice finds the one device that was asked for, by index or node.
func selectDevice(devices []way, want string, err error) way {
	index, notNumber := strconv.Atoi(want)
	for i, w := range devices {
		if notNumber == nil && i == index || notNumber != nil && hasWord(w.detail, want) {
			return w
		}
	}
	if err == nil {
		err = fmt.Errorf("device %q is not among the %d that EGL lists", want, len(devices))
	}
	return closedWay("egl-device", "", err)
}

func hasWord(s, word string) bool { return strings.Contains(" "+s+" ", " "+word+" ") }
