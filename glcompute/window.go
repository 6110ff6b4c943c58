//go:build cgo && linux && !noglfw

package glcompute

import (
	"errors"
	"fmt"
	"image"
	"sync/atomic"

	"github.com/go-gl/gl/v4.3-core/gl"
	"github.com/go-gl/glfw/v3.3/glfw"
)

// Window is a visible window whose context shares the objects of a device, so
// that its fragment shader reads the device's buffers where they are. Its
// methods may be called from any goroutine.
type Window struct {
	device *Device // of the window's own context
	window *glfw.Window
	size   image.Point
	closed atomic.Bool

	program           Program
	vertices, texture uint32
	viewSize          int32 // uniform location
}

// vertexSource covers the window with one triangle.
const vertexSource = `#version 430 core
void main() {
    gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0);
}
`

// compileView builds the program that draws a frame.
func (d *Device) compileView(fragment string) (Program, error) {
	vertex, err := compileStage(gl.VERTEX_SHADER, vertexSource)
	if err != nil {
		return Program{}, err
	}
	defer gl.DeleteShader(vertex)
	shader, err := compileStage(gl.FRAGMENT_SHADER, fragment)
	if err != nil {
		return Program{}, err
	}
	defer gl.DeleteShader(shader)
	return d.link(vertex, shader)
}

// OpenWindow opens a window of a fixed size beside a device that GLFW opened,
// because contexts of EGL and of a window system share nothing. The fragment
// shader colours every pixel. It gets the uniform ivec2 view_size, the window's
// size, and the sampler view_overlay, the picture that goes with a frame.
func OpenWindow(d *Device, title string, size image.Point, fragment string) (*Window, error) {
	of, ok := d.context.(*glfwContext)
	if !ok {
		return nil, fmt.Errorf("OpenGL: a window needs a device opened by the glfw backend, this one is of %s", d.info.Way)
	}
	w := &Window{size: size}
	var err error
	w.device, err = onThread(d.objects, func() (context, Attempt, error) {
		c, err := newGLFW(of.robust, of, title, size, func() { w.closed.Store(true) })
		if err == nil {
			w.window = c.window
		}
		return c, Attempt{Backend: d.info.Way, Detail: "window"}, err
	})
	if err != nil {
		return nil, fmt.Errorf("OpenGL: window: %w", err)
	}
	if err := w.device.Do(func() error { return w.prepare(fragment) }); err != nil {
		return nil, errors.Join(fmt.Errorf("OpenGL: window: %w", err), w.Close())
	}
	return w, nil
}

// prepare builds what every frame uses.
func (w *Window) prepare(fragment string) error {
	var err error
	if w.program, err = w.device.compileView(fragment); err != nil {
		return err
	}
	w.viewSize = w.device.UniformLocation(w.program, "view_size")
	gl.GenVertexArrays(1, &w.vertices)
	gl.GenTextures(1, &w.texture)
	gl.BindTexture(gl.TEXTURE_2D, w.texture)
	gl.TexStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, int32(w.size.X), int32(w.size.Y))
	gl.TexParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST)
	gl.TexParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST)
	return w.device.Check()
}

// Draw shows a frame: the shader's picture from the device's buffers and an
// overlay of the window's size. It waits for the display as the window system
// asks it to. The buffers may change meanwhile; a frame then shows some of both.
func (w *Window) Draw(overlay *image.RGBA, storage ...StorageRange) error {
	if overlay.Rect.Size() != w.size || overlay.Stride != 4*w.size.X {
		return fmt.Errorf("OpenGL: window: an overlay of %v for a window of %v", overlay.Rect.Size(), w.size)
	}
	// Events belong to the main thread; without them the system takes the
	// window for dead.
	if err := onMain(func() error { return guard("poll events", glfw.PollEvents) }); err != nil {
		return fmt.Errorf("OpenGL: window: %w", err)
	}
	return w.device.Do(func() error {
		gl.Viewport(0, 0, int32(w.size.X), int32(w.size.Y))
		gl.BindTexture(gl.TEXTURE_2D, w.texture)
		gl.TexSubImage2D(gl.TEXTURE_2D, 0, 0, 0, int32(w.size.X), int32(w.size.Y), gl.RGBA, gl.UNSIGNED_BYTE, gl.Ptr(overlay.Pix))
		for _, s := range storage {
			w.device.BindStorage(s.Binding, s.Buffer, 0, s.Size)
		}
		gl.UseProgram(w.program.Program)
		gl.Uniform2i(w.viewSize, int32(w.size.X), int32(w.size.Y))
		gl.BindVertexArray(w.vertices)
		gl.DrawArrays(gl.TRIANGLES, 0, 3)
		if err := w.device.Check(); err != nil {
			return err
		}
		return guard("swap buffers", w.window.SwapBuffers)
	})
}

// Closed reports whether the user closed the window. It stays open until Close.
func (w *Window) Closed() bool { return w.closed.Load() }

// Close closes the window. The device beside it goes on.
func (w *Window) Close() error {
	err := w.device.Do(func() error {
		gl.DeleteTextures(1, &w.texture)
		gl.DeleteVertexArrays(1, &w.vertices)
		w.device.DeleteProgram(w.program)
		return nil
	})
	return errors.Join(err, w.device.Close())
}
