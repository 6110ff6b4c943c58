//go:build cgo && linux

package glcompute

import (
	"fmt"
)

// eglWays lists what to try with the library that a configuration names; one
// closed way if it cannot be loaded.
func eglWays(cfg Config) []way {
	lib, err := loadEGL(cfg.eglLibrary())
	if err != nil {
		return []way{closedWay("egl", cfg.eglLibrary(), err)}
	}
	client := lib.clientExtensions()
	devices, err := lib.listDevices(client)
	if cfg.Device != "" {
		return []way{selectDevice(devices, cfg.Device, err)}
	}
	var hardware, soft []way
	if err != nil {
		hardware = []way{closedWay("egl-device", "", err)}
	}
	for _, d := range devices {
		if d.software {
			soft = append(soft, d.way)
		} else {
			hardware = append(hardware, d.way)
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
