//go:build !cgo || !linux || noglfw

package glcompute

import (
	"errors"
	"image"
)

// Window is a visible window; this build has none.
type Window struct{}

// OpenWindow fails in this build.
func OpenWindow(*Device, string, image.Point, string) (*Window, error) {
	return nil, errors.New("OpenGL: window: built without GLFW (tag noglfw, no cgo, or not Linux)")
}

// Draw is never reached.
func (w *Window) Draw(*image.RGBA, ...StorageRange) error { return nil }

// Closed is never reached.
func (w *Window) Closed() bool { return true }

// Close is never reached.
func (w *Window) Close() error { return nil }
