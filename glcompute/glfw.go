//go:build cgo && linux && !noglfw

package glcompute

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"runtime"
	"unsafe"

	"github.com/go-gl/gl/v4.3-core/gl"
	"github.com/go-gl/glfw/v3.3/glfw"
)

// GLFW wants the process's main thread, and a goroutine is sure to be on it only
// if it was locked there during initialisation.
func init() { runtime.LockOSThread() }

// glfwContext is the context of a hidden window. The window belongs to the main
// thread, the context to the device's.
type glfwContext struct {
	window *glfw.Window
	robust bool
}

// glfwWindows counts the open windows; only the main thread touches it.
var glfwWindows int

// glfwWay opens a hidden window on the main thread and makes its context current
// on the calling one.
func glfwWay(cfg Config) way {
	if cfg.Display == "" {
		return closedWay(string(GLFW), "", errors.New("no display: DISPLAY is not set, and this build of GLFW is for X11 (XWayland will do)"))
	}
	return way{backend: string(GLFW), detail: "display " + cfg.Display, open: openGLFW}
}

func openGLFW() (candidate, error) {
	return newGLFW(true, nil, "", image.Pt(1, 1), nil)
}

// share makes a hidden window whose context shares this one's objects.
func (c *glfwContext) share() (context, error) {
	return newGLFW(c.robust, c, "", image.Pt(1, 1), nil)
}

// newGLFW makes a window of a fixed size on the main thread, visible if it has a title,
// and its context current on the calling one. The first one starts the library; if the
// driver has no robust contexts, it does without. closed is called when the user closes
// the window.
func newGLFW(robust bool, beside *glfwContext, title string, size image.Point, closed func()) (*glfwContext, error) {
	c := &glfwContext{}
	err := onMain(func() error {
		if glfwWindows == 0 {
			if err := initGLFW(); err != nil {
				return err
			}
		}
		err := c.create(robust, beside, title, size)
		if err != nil && beside == nil {
			err = c.create(false, nil, title, size)
		}
		switch {
		case err == nil:
			glfwWindows++
			if closed != nil {
				c.window.SetCloseCallback(func(*glfw.Window) { closed() })
			}
		case glfwWindows == 0:
			glfw.Terminate()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := c.makeCurrent(); err != nil {
		c.release()
		return nil, err
	}
	return c, nil
}

func (c *glfwContext) makeCurrent() error {
	return guard("make the window's context current", c.window.MakeContextCurrent)
}

func (c *glfwContext) names() (renderer, version string) { return glNames(c) }

// initGLFW starts the library. The binding prints a display that cannot be opened
// to the standard logger and returns nil, and its next call panics.
func initGLFW() error {
	var err error
	panicked := guard("initialise", func() {
		if err = glfw.Init(); err == nil {
			glfw.DefaultWindowHints()
		}
	})
	if panicked != nil {
		return fmt.Errorf("the X display cannot be opened (%w)", panicked)
	}
	return err
}

// create makes the window.
func (c *glfwContext) create(robust bool, beside *glfwContext, title string, size image.Point) error {
	var share *glfw.Window
	if beside != nil {
		share = beside.window
	}
	c.robust = robust
	doing := "make a hidden window with an OpenGL 4.3 core context"
	visible := glfw.False
	if title != "" {
		doing, visible = "make a window with an OpenGL 4.3 core context", glfw.True
	}
	var err error
	panicked := guard(doing, func() {
		glfw.DefaultWindowHints()
		glfw.WindowHint(glfw.Visible, visible)
		glfw.WindowHint(glfw.Resizable, glfw.False)
		glfw.WindowHint(glfw.ContextVersionMajor, minMajor)
		glfw.WindowHint(glfw.ContextVersionMinor, minMinor)
		glfw.WindowHint(glfw.OpenGLProfile, glfw.OpenGLCoreProfile)
		if robust {
			glfw.WindowHint(glfw.ContextRobustness, glfw.LoseContextOnReset)
		}
		c.window, err = glfw.CreateWindow(size.X, size.Y, cmp.Or(title, "ringmaster"), nil, share)
	})
	if err == nil && panicked == nil && c.window == nil {
		err = errors.New("no window")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", doing, err)
	}
	return errors.Join(panicked, err)
}

// guard turns the panics of the GLFW binding, which it uses for a library that
// could not be initialised, into errors.
func guard(doing string, fn func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: %v", doing, p)
		}
	}()
	fn()
	return nil
}

func (c *glfwContext) proc(name string) uintptr { return uintptr(glfw.GetProcAddress(name)) }

func (c *glfwContext) loadGL() error {
	return gl.InitWithProcAddrFunc(func(name string) unsafe.Pointer { return glfw.GetProcAddress(name) })
}

// release lets go of the context here and destroys the window on the main
// thread. If Main has returned the process is ending, and the window with it.
func (c *glfwContext) release() {
	_ = guard("detach", glfw.DetachCurrentContext)
	_ = onMain(func() error {
		c.window.Destroy()
		if glfwWindows--; glfwWindows == 0 {
			glfw.Terminate()
		}
		return nil
	})
}
