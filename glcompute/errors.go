package glcompute

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ErrClosed is returned by Do after Close. The function did not run.
var ErrClosed = errors.New("glcompute: the device is closed")

// ErrContextLost is wrapped by the error of Device.Check after the GPU was reset.
// Nothing on the device can be read any more; it must be closed and opened again.
// It has a method Lost, by which callers that do not import this package know it.
var ErrContextLost error = lostError{}

type lostError struct{}

func (lostError) Error() string { return "glcompute: the GPU was reset and the context is lost" }

// Lost reports that the context is gone for good.
func (lostError) Lost() bool { return true }

// ErrSoftware is the error of an attempt that did lead to a context, but to one
// on a software renderer while hardware was still being looked for.
var ErrSoftware = errors.New("glcompute: software renderer, used only if no way leads to hardware")

// ErrNoDevice is wrapped by the error of Open if Config.Device names none of the
// devices that there are; the message lists them.
var ErrNoDevice = errors.New("glcompute: no such device")

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
	return s + ": " + strings.TrimPrefix(a.Err.Error(), "glcompute: ")
}

// UnavailableError reports that no way led to an OpenGL 4.3 core context.
type UnavailableError struct {
	Attempts []Attempt
	// Advice says what to install or to set, in sentences.
	Advice string
}

func (e *UnavailableError) Error() string {
	var b strings.Builder
	b.WriteString("glcompute: no OpenGL 4.3 core context")
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
	// Stage is "compile" or "link".
	Stage string
	// Log is the driver's own text.
	Log string
	// Excerpt holds the source lines around each line that the log names,
	// numbered; empty if it names none.
	Excerpt string
}

func (e *CompileError) Error() string {
	log := strings.TrimSpace(e.Log)
	if log == "" {
		log = "the driver gave no log"
	}
	s := fmt.Sprintf("glcompute: %s compute shader: %s", e.Stage, log)
	if e.Excerpt != "" {
		s += "\n" + strings.TrimRight(e.Excerpt, "\n")
	}
	return s
}

// The forms in which drivers name a line of source string 0:
//
//	0:12(5): error: …   Mesa
//	ERROR: 0:12: …      AMD, Intel, Apple
//	0(12) : error …     NVIDIA
var logLine = regexp.MustCompile(`(?m)^(?:[A-Z]+: )?0(?::(\d+)|\((\d+)\))`)

const (
	excerptAround = 2  // lines shown before and after a named line
	excerptNamed  = 12 // named lines shown; one slip often breaks all that follows
)

// excerpt shows the lines of source that a driver's log names, each with its
// number and its neighbours; the named ones are marked.
func excerpt(source, log string) string {
	lines := strings.Split(strings.TrimSuffix(source, "\n"), "\n")
	var named []int
	for _, m := range logLine.FindAllStringSubmatch(log, -1) {
		n, err := strconv.Atoi(m[1] + m[2])
		if err != nil || n < 1 || n > len(lines) || slices.Contains(named, n) {
			continue
		}
		if named = append(named, n); len(named) == excerptNamed {
			break
		}
	}
	slices.Sort(named)
	var b strings.Builder
	shown := 0
	for _, n := range named {
		first, last := max(n-excerptAround, shown+1), min(n+excerptAround, len(lines))
		if shown > 0 && first > shown+1 {
			b.WriteString("      ...\n")
		}
		for i := first; i <= last; i++ {
			mark := ' '
			if slices.Contains(named, i) {
				mark = '>'
			}
			fmt.Fprintf(&b, "%c %4d | %s\n", mark, i, lines[i-1])
		}
		shown = max(shown, last)
	}
	return b.String()
}
