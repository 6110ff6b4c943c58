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
	switch {
	case cfg.Display != "":
		return way{backend: string(GLFW), detail: "display " + cfg.Display, open: openGLFW}
	case cfg.WaylandDisplay != "":
		return closedWay(string(GLFW), "", errors.New("only WAYLAND_DISPLAY is set; this build of GLFW is for X11 and needs DISPLAY (XWayland)"))
	}
	return closedWay(string(GLFW), "", errors.New("no display: neither DISPLAY nor WAYLAND_DISPLAY is set"))
}

func openGLFW() (candidate, error) {
	c := &glfwContext{}
	if err := onMain(c.open); err != nil {
		return nil, err
	}
	if err := c.adopt(); err != nil {
		return nil, err
	}
	return c, nil
}

// adopt makes the new context current, or releases it.
func (c *glfwContext) adopt() error {
	err := c.makeCurrent()
	if err != nil {
		c.release()
	}
	return err
}

// share makes another hidden window whose context shares this one's objects.
func (c *glfwContext) share() (context, error) {
	s := &glfwContext{}
	err := onMain(func() error {
		err := s.create(c.robust, c.window)
		if err == nil {
			glfwWindows++
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.adopt(); err != nil {
		return nil, err
	}
	return s, nil
}

func (c *glfwContext) makeCurrent() error {
	return guard("make the window's context current", c.window.MakeContextCurrent)
}

func (c *glfwContext) names() (renderer, version string) {
	get := c.proc("glGetString")
	return glString(get, gl.RENDERER), glString(get, gl.VERSION)
}

// open makes the window, with a robust context if the driver has one.
func (c *glfwContext) open() error {
	if glfwWindows == 0 {
		if err := initGLFW(); err != nil {
			return err
		}
	}
	err := c.create(true, nil)
	if err != nil {
		err = c.create(false, nil)
	}
	if err == nil {
		glfwWindows++
	} else if glfwWindows == 0 {
		glfw.Terminate()
	}
	return err
}

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

// create makes a hidden window, for its context only.
func (c *glfwContext) create(robust bool, share *glfw.Window) error {
	return c.createWindow(robust, share, "", image.Pt(1, 1))
}

// createWindow makes a window of a fixed size, visible if it has a title.
func (c *glfwContext) createWindow(robust bool, share *glfw.Window, title string, size image.Point) error {
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
