package glcompute

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// ErrClosed is returned by Do after Close. The function did not run.
var ErrClosed = errors.New("OpenGL: the device is closed")

// ErrContextLost is wrapped by the error of Device.Check after the GPU was reset.
// Nothing on the device can be read any more; it must be closed and opened again.
// It has a method Lost, by which callers that do not import this package know it.
var ErrContextLost error = lostError{}

type lostError struct{}

func (lostError) Error() string { return "OpenGL: the GPU was reset and the context is lost" }

// Lost reports that the context is gone for good.
func (lostError) Lost() bool { return true }

// ErrSoftware is the error of an attempt that did lead to a context, but to one
// on a software renderer while hardware was still being looked for.
var ErrSoftware = errors.New("OpenGL: software renderer, used only if no way leads to hardware")

// ErrNoDevice is wrapped by the error of Open if Config.Device names none of the
// devices that there are; the message lists them.
var ErrNoDevice = errors.New("OpenGL: no such device")

// Attempt is one way to a context that Open tried.
type Attempt struct {
	// Backend is the way: egl-device, egl-surfaceless, egl-default, egl
	// (the library itself) or glfw.
	Backend string
	// Detail says what was asked and what answered, such as the device's
	// number and the renderer.
	Detail string
	// Err is nil for the way that was taken.
	Err error
}

func (a Attempt) String() string {
	s := a.Backend
	if a.Detail != "" {
		s += " (" + a.Detail + ")"
	}
	if a.Err == nil {
		return s + ": ok"
	}
	return s + ": " + strings.TrimPrefix(a.Err.Error(), "OpenGL: ")
}

// UnavailableError reports that no way led to an OpenGL 4.3 core context.
type UnavailableError struct {
	Attempts []Attempt
	// Advice says what to install or to set, in sentences.
	Advice string
}

func (e *UnavailableError) Error() string {
	var b strings.Builder
	b.WriteString("OpenGL: no OpenGL 4.3 core context")
	for i, a := range e.Attempts {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		b.WriteString(sep)
		b.WriteString(a.String())
	}
	if e.Advice != "" {
		b.WriteString(". ")
		b.WriteString(e.Advice)
	}
	return b.String()
}

// Unwrap gives the errors of the attempts.
func (e *UnavailableError) Unwrap() []error {
	var errs []error
	for _, a := range e.Attempts {
		if a.Err != nil {
			errs = append(errs, a.Err)
		}
	}
	return errs
}

// CompileError is a shader that the driver refused.
type CompileError struct {
	Stage string // "compile" or "link"
	Log   string // the driver's own text, with the lines of the source that it means
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("OpenGL: %s compute shader: %s", e.Stage, cmp.Or(strings.TrimSpace(e.Log), "the driver gave no log"))
}
