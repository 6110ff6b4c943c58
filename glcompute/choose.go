//go:build cgo && linux

package glcompute

import (
	"fmt"
)

// way is one way to a context, in the order in which the package comment has them.
type way struct {
	backend  string
	detail   string
	software bool // known beforehand to lead to a software renderer
	open     func() (candidate, error)
}

// candidate is a context that a way led to, current on the calling thread.
type candidate interface {
	context
	names() (renderer, version string) // while it is current
	makeCurrent() error
}

// choose follows the ways until one leads to hardware, or settles for the first
// that led to software. The candidate it returns is current; nil means none.
func choose(ways []way) (candidate, []Attempt) {
	var attempts []Attempt
	var held candidate // on software, kept in case nothing better comes
	heldAt := 0
	for _, w := range ways {
		if held != nil && w.software {
			continue
		}
		c, err := w.open()
		attempts = append(attempts, w.attempt(c, err))
		at := len(attempts) - 1
		switch {
		case err != nil:
		case !isSoftware(c):
			if held != nil {
				held.release()
			}
			return settle(c, attempts, at)
		case held == nil:
			held, heldAt = c, at
			attempts[at].Err = ErrSoftware
		default:
			c.release()
			attempts[at].Err = ErrSoftware
		}
	}
	if held == nil {
		return nil, attempts
	}
	return settle(held, attempts, heldAt)
}

func isSoftware(c candidate) bool {
	renderer, _ := c.names()
	return software(renderer)
}

// settle makes the chosen context current; opening and releasing others may have
// taken its place on the thread.
func settle(c candidate, attempts []Attempt, at int) (candidate, []Attempt) {
	if attempts[at].Err = c.makeCurrent(); attempts[at].Err != nil {
		c.release()
		return nil, attempts
	}
	return c, attempts
}

// attempt records what came of the way; c is nil if err is not.
func (w way) attempt(c candidate, err error) Attempt {
	a := Attempt{Backend: w.backend, Detail: w.detail, Err: err}
	if err == nil {
		renderer, version := c.names()
		if a.Detail != "" {
			a.Detail += ", "
		}
		a.Detail += renderer + ", OpenGL " + version
	}
	return a
}

// probe follows every way and keeps nothing.
func probe(ways []way) []Attempt {
	attempts := make([]Attempt, len(ways))
	for i, w := range ways {
		c, err := w.open()
		attempts[i] = w.attempt(c, err)
		if err == nil {
			c.release()
		}
	}
	return attempts
}

// eglWays lists what to try with EGL; one closed way if it cannot be loaded.
func eglWays(cfg Config) []way {
	lib, err := loadEGL(eglFile)
	if err != nil {
		return []way{closedWay("egl", eglFile, err)}
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
	return way{backend: backend, open: func() (candidate, error) { return newEGLContext(e, platform, native) }}
}

// closedWay is known to lead nowhere before it is tried.
func closedWay(backend, detail string, err error) way {
	return way{backend: backend, detail: detail, open: func() (candidate, error) { return nil, err }}
}

func missingExtension(name string) error { return fmt.Errorf("libEGL has no %s", name) }
