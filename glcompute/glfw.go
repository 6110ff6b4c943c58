//go:build cgo && linux && !noglfw

package glcompute

import (
	"errors"
	"fmt"
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

// openGLFW opens a hidden window on the main thread and makes its context
// current on the calling one.
func openGLFW(cfg Config) (context, Attempt) {
	a := Attempt{Backend: string(GLFW)}
	if cfg.Display == "" && cfg.WaylandDisplay == "" {
		a.Err = errors.New("glcompute: no display: neither DISPLAY nor WAYLAND_DISPLAY is set")
		return nil, a
	}
	a.Detail = "display " + cfg.Display
	if cfg.Display == "" {
		a.Err = errors.New("glcompute: only WAYLAND_DISPLAY is set; GLFW is built for X11 and needs DISPLAY (XWayland)")
		return nil, a
	}
	c := &glfwContext{}
	if a.Err = onMain(c.open); a.Err != nil {
		return nil, a
	}
	if a.Err = guard("make the window's context current", func() { c.window.MakeContextCurrent() }); a.Err != nil {
		c.release()
		return nil, a
	}
	get := c.proc("glGetString")
	a.Detail += fmt.Sprintf(", %s, OpenGL %s", glString(get, gl.RENDERER), glString(get, gl.VERSION))
	return c, a
}

// open makes the window, with a robust context if the driver has one.
func (c *glfwContext) open() error {
	if glfwWindows == 0 {
		var err error
		if panicked := guard("initialise", func() { err = glfw.Init() }); panicked != nil || err != nil {
			return errors.Join(panicked, err)
		}
	}
	err := c.create(true)
	if c.robust = err == nil; !c.robust {
		err = c.create(false)
	}
	if err == nil {
		glfwWindows++
	} else if glfwWindows == 0 {
		glfw.Terminate()
	}
	return err
}

func (c *glfwContext) create(robust bool) error {
	var err error
	panicked := guard("make a hidden window with an OpenGL 4.3 core context", func() {
		glfw.DefaultWindowHints()
		glfw.WindowHint(glfw.Visible, glfw.False)
		glfw.WindowHint(glfw.ContextVersionMajor, minMajor)
		glfw.WindowHint(glfw.ContextVersionMinor, minMinor)
		glfw.WindowHint(glfw.OpenGLProfile, glfw.OpenGLCoreProfile)
		if robust {
			glfw.WindowHint(glfw.ContextRobustness, glfw.LoseContextOnReset)
		}
		c.window, err = glfw.CreateWindow(1, 1, "ringmaster", nil, nil)
	})
	if err == nil && panicked == nil && c.window == nil {
		err = errors.New("no window")
	}
	if err != nil {
		err = fmt.Errorf("glcompute: glfw: make a hidden window with an OpenGL 4.3 core context: %w", err)
	}
	return errors.Join(panicked, err)
}

// guard turns the panics of the GLFW binding, which it uses for a library that
// could not be initialised, into errors.
func guard(doing string, fn func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("glcompute: glfw: %s: %v", doing, p)
		}
	}()
	fn()
	return nil
}

func (c *glfwContext) proc(name string) uintptr { return uintptr(glfw.GetProcAddress(name)) }
func (c *glfwContext) isRobust() bool           { return c.robust }

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
