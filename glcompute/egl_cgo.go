//go:build cgo && linux

package glcompute

/*
#cgo CFLAGS: -O2 -Wall
#cgo LDFLAGS: -Wl,--as-needed -ldl
#include <stdlib.h>
#include "egl_shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/go-gl/gl/v4.3-core/gl"
)

// eglLibrary is a loaded libEGL. Its methods are the calls of EGL, one each.
// Those that fail report the error code of the calling thread.
type eglLibrary struct{ c *C.shim_egl }

// loadEGL loads the library, which stays loaded for the life of the process.
func loadEGL(file string) (*eglLibrary, error) {
	name := C.CString(file)
	defer C.free(unsafe.Pointer(name))
	var message *C.char
	c := C.shim_load(name, &message)
	if c == nil {
		defer C.free(unsafe.Pointer(message))
		return nil, errors.New("load EGL: " + C.GoString(message))
	}
	return &eglLibrary{c}, nil
}

func (e *eglLibrary) proc(name string) uintptr {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return uintptr(C.shim_proc(e.c, c))
}

// loadGL fills go-gl's table of entry points.
func (e *eglLibrary) loadGL() error {
	return gl.InitWithProcAddrFunc(func(name string) unsafe.Pointer {
		return procPointer(e.proc(name))
	})
}

// procPointer makes the pointer that go-gl asks for from the address of a C
// function, which lies outside Go's heap.
func procPointer(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

func (e *eglLibrary) err(call string) error {
	code := int(C.shim_error(e.c))
	name := eglErrorNames[code]
	if name == "" {
		name = fmt.Sprintf("EGL error %#x", code)
	}
	return fmt.Errorf("%s: %s", call, name)
}

// clientExtensions are those of the library, available without a display.
func (e *eglLibrary) clientExtensions() extensions {
	return parseExtensions(C.GoString(C.shim_query_string(e.c, 0, eglExtensions)))
}

func (e *eglLibrary) displayString(d uintptr, name int) string {
	return C.GoString(C.shim_query_string(e.c, C.uintptr_t(d), C.int(name)))
}

func (e *eglLibrary) devices() ([]uintptr, error) {
	var found [64]C.uintptr_t
	n := int(C.shim_query_devices(e.c, C.int(len(found)), &found[0]))
	if n < 0 {
		return nil, e.err("eglQueryDevicesEXT")
	}
	devices := make([]uintptr, n)
	for i := range devices {
		devices[i] = uintptr(found[i])
	}
	return devices, nil
}

func (e *eglLibrary) deviceString(device uintptr, name int) string {
	s := C.GoString(C.shim_query_device_string(e.c, C.uintptr_t(device), C.int(name)))
	if s == "" {
		C.shim_error(e.c) // clear EGL_BAD_PARAMETER of a name the device does not have
	}
	return s
}

func (e *eglLibrary) display(platform int, native uintptr) (uintptr, error) {
	d := uintptr(C.shim_display(e.c, C.int(platform), C.uintptr_t(native)))
	if d == 0 {
		return 0, e.err("eglGetPlatformDisplay")
	}
	return d, nil
}

func (e *eglLibrary) initialize(d uintptr) (major, minor int, err error) {
	var a, b C.int
	if C.shim_initialize(e.c, C.uintptr_t(d), &a, &b) == 0 {
		return 0, 0, e.err("eglInitialize")
	}
	return int(a), int(b), nil
}

func (e *eglLibrary) terminate(d uintptr) { C.shim_terminate(e.c, C.uintptr_t(d)) }

// bindDesktopGL holds for the calling thread only.
func (e *eglLibrary) bindDesktopGL() error {
	if C.shim_bind_desktop_gl(e.c) == 0 {
		return e.err("eglBindAPI(EGL_OPENGL_API)")
	}
	return nil
}

// chooseConfig returns false if the display has no configuration for desktop GL.
func (e *eglLibrary) chooseConfig(d uintptr) (config uintptr, ok bool) {
	var c C.uintptr_t
	ok = C.shim_choose_config(e.c, C.uintptr_t(d), &c) > 0
	return uintptr(c), ok
}

func (e *eglLibrary) createContext(d, config, share uintptr, attributes []int32) (uintptr, error) {
	attributes = append(attributes[:len(attributes):len(attributes)], eglNone)
	c := uintptr(C.shim_create_context(e.c, C.uintptr_t(d), C.uintptr_t(config), C.uintptr_t(share), (*C.int32_t)(&attributes[0])))
	if c == 0 {
		return 0, e.err("eglCreateContext")
	}
	return c, nil
}

// makeCurrent makes a context current without a surface; context 0 lets go of the current one.
func (e *eglLibrary) makeCurrent(d, context uintptr) error {
	if C.shim_make_current(e.c, C.uintptr_t(d), C.uintptr_t(context)) == 0 {
		return e.err("eglMakeCurrent")
	}
	return nil
}

func (e *eglLibrary) destroyContext(d, context uintptr) {
	C.shim_destroy_context(e.c, C.uintptr_t(d), C.uintptr_t(context))
}

func (e *eglLibrary) releaseThread() { C.shim_release_thread(e.c) }

// glNames are GL_RENDERER and GL_VERSION of a context that is current, also before go-gl has its table.
func glNames(c context) (renderer, version string) {
	get := C.uintptr_t(c.proc("glGetString"))
	if get == 0 {
		return "", ""
	}
	return C.GoString(C.shim_gl_string(get, gl.RENDERER)), C.GoString(C.shim_gl_string(get, gl.VERSION))
}

// glUnsignedBytes is glGetUnsignedBytei_vEXT, which go-gl's 4.3 package lacks. It
// returns false if get is 0.
func glUnsignedBytes(get uintptr, name, index uint32, dst []byte) bool {
	if get == 0 || len(dst) == 0 {
		return false
	}
	C.shim_gl_ubytes_indexed(C.uintptr_t(get), C.uint(name), C.uint(index), (*C.uchar)(&dst[0]))
	return true
}
