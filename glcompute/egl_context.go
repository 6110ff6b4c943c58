//go:build cgo && linux

package glcompute

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// eglContext is a context without a window. All methods belong on one thread.
type eglContext struct {
	lib     *eglLibrary
	display uintptr
	handle  uintptr
	config  uintptr
	form    []int32 // the attributes that the driver took
}

// openDisplays counts the contexts of each display. EGL hands out the same
// display for the same request, and terminating it would end the contexts of
// every other device on it.
var openDisplays struct {
	sync.Mutex
	users map[uintptr]int
}

func (e *eglLibrary) openDisplay(d uintptr) (major, minor int, err error) {
	openDisplays.Lock()
	defer openDisplays.Unlock()
	if major, minor, err = e.initialize(d); err != nil {
		return 0, 0, err
	}
	if openDisplays.users == nil {
		openDisplays.users = map[uintptr]int{}
	}
	openDisplays.users[d]++
	return major, minor, nil
}

func (e *eglLibrary) closeDisplay(d uintptr) {
	openDisplays.Lock()
	defer openDisplays.Unlock()
	if openDisplays.users[d]--; openDisplays.users[d] == 0 {
		delete(openDisplays.users, d)
		e.terminate(d)
	}
}

// newEGLContext makes a context on a display and makes it current.
func newEGLContext(lib *eglLibrary, platform int, native uintptr) (*eglContext, error) {
	display, err := lib.display(platform, native)
	if err != nil {
		return nil, err
	}
	major, minor, err := lib.openDisplay(display)
	if err != nil {
		return nil, err
	}
	c := &eglContext{lib: lib, display: display}
	if err := c.create(major > 1 || minor >= 5); err != nil {
		c.release()
		return nil, err
	}
	return c, nil
}

// create tries the robust forms of a 4.3 core context first.
func (c *eglContext) create(egl15 bool) error {
	ext := parseExtensions(c.lib.displayString(c.display, eglExtensions))
	if !egl15 && !ext[extCreateContext] {
		return fmt.Errorf("EGL 1.5 or %s is needed to ask for a core context", extCreateContext)
	}
	if !ext[extSurfacelessContext] {
		return fmt.Errorf("the display has no %s", extSurfacelessContext)
	}
	if err := c.lib.bindDesktopGL(); err != nil {
		return err
	}
	config, err := c.chooseConfig(ext)
	if err != nil {
		return err
	}
	var last error
	for _, form := range contextForms(egl15, ext) {
		if c.handle, last = c.lib.createContext(c.display, config, 0, form); last == nil {
			c.config, c.form = config, form
			return c.makeCurrent()
		}
	}
	return fmt.Errorf("the driver refuses OpenGL %d.%d core: %w", minMajor, minMinor, last)
}

// share makes a context like this one beside it; the attributes must be the same.
func (c *eglContext) share() (context, error) {
	if _, _, err := c.lib.openDisplay(c.display); err != nil {
		return nil, err
	}
	s := &eglContext{lib: c.lib, display: c.display, config: c.config, form: c.form}
	err := c.lib.bindDesktopGL()
	if err == nil {
		s.handle, err = c.lib.createContext(c.display, c.config, c.handle, c.form)
	}
	if err == nil {
		err = s.makeCurrent()
	}
	if err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

// chooseConfig picks a configuration that desktop GL can render with, or none where contexts need none.
func (c *eglContext) chooseConfig(ext extensions) (uintptr, error) {
	config, ok := c.lib.chooseConfig(c.display)
	if !ok && !ext[extNoConfigContext] {
		return 0, errors.New("eglChooseConfig: the display has no configuration for desktop OpenGL")
	}
	return config, nil
}

// contextForms are the attribute lists that ask for a 4.3 core context, best first: robust
// access and lose-on-reset by the attributes of EGL 1.5, then by the flag of
// EGL_KHR_create_context, then without either.
func contextForms(egl15 bool, ext extensions) [][]int32 {
	core := []int32{
		eglContextMajorVersion, minMajor,
		eglContextMinorVersion, minMinor,
		eglContextProfileMask, eglCoreProfileBit,
	}
	with := func(more ...int32) []int32 {
		return append(core[:len(core):len(core)], more...)
	}
	var forms [][]int32
	if egl15 {
		forms = append(forms, with(eglContextRobustAccess, 1, eglContextResetStrategy, eglLoseContextOnReset))
	}
	if ext[extCreateContext] {
		forms = append(forms, with(eglContextFlagsKHR, eglRobustAccessBitKHR, eglContextResetStrategy, eglLoseContextOnReset))
	}
	return append(forms, core)
}

func (c *eglContext) proc(name string) uintptr { return c.lib.proc(name) }
func (c *eglContext) loadGL() error            { return c.lib.loadGL() }
func (c *eglContext) names() (_, _ string)     { return glNames(c) }

// makeCurrent binds the API too, since the thread may never have been used.
func (c *eglContext) makeCurrent() error {
	if err := c.lib.bindDesktopGL(); err != nil {
		return err
	}
	return c.lib.makeCurrent(c.display, c.handle)
}

// release destroys what was made, on the thread where it is current.
func (c *eglContext) release() {
	if c.handle != 0 {
		c.lib.makeCurrent(c.display, 0)
		c.lib.destroyContext(c.display, c.handle)
	}
	c.lib.closeDisplay(c.display)
	c.lib.releaseThread()
}

// Names of EGL 1.5 and of the extensions that are used, from the Khronos
// registry (egl.xml).
const (
	eglNone       = 0x3038
	eglExtensions = 0x3055

	eglContextMajorVersion  = 0x3098
	eglContextMinorVersion  = 0x30FB
	eglContextFlagsKHR      = 0x30FC // EGL_KHR_create_context
	eglContextProfileMask   = 0x30FD
	eglContextResetStrategy = 0x31BD // EGL 1.5 and EGL_KHR_create_context
	eglContextRobustAccess  = 0x31B2 // EGL 1.5

	eglCoreProfileBit      = 0x1
	eglRobustAccessBitKHR  = 0x4
	eglLoseContextOnReset  = 0x31BF
	eglPlatformDevice      = 0x313F // EGL_EXT_platform_device
	eglPlatformSurfaceless = 0x31DD // EGL_MESA_platform_surfaceless
	eglDRMDeviceFile       = 0x3233 // EGL_EXT_device_drm
	eglDRMRenderNodeFile   = 0x3377 // EGL_EXT_device_drm_render_node
	extPlatformDevice      = "EGL_EXT_platform_device"
	extDeviceBase          = "EGL_EXT_device_base"
	extDeviceEnumeration   = "EGL_EXT_device_enumeration"
	extPlatformSurfaceless = "EGL_MESA_platform_surfaceless"
	extDeviceSoftware      = "EGL_MESA_device_software"
	extCreateContext       = "EGL_KHR_create_context"
	extSurfacelessContext  = "EGL_KHR_surfaceless_context"
	extNoConfigContext     = "EGL_KHR_no_config_context"
	extDeviceDRM           = "EGL_EXT_device_drm"
	extDeviceDRMRenderNode = "EGL_EXT_device_drm_render_node"
)

// eglErrorNames are the codes of eglGetError.
var eglErrorNames = map[int]string{
	0x3000: "no error code",
	0x3001: "EGL_NOT_INITIALIZED",
	0x3002: "EGL_BAD_ACCESS",
	0x3003: "EGL_BAD_ALLOC",
	0x3004: "EGL_BAD_ATTRIBUTE",
	0x3005: "EGL_BAD_CONFIG",
	0x3006: "EGL_BAD_CONTEXT",
	0x3007: "EGL_BAD_CURRENT_SURFACE",
	0x3008: "EGL_BAD_DISPLAY",
	0x3009: "EGL_BAD_MATCH",
	0x300A: "EGL_BAD_NATIVE_PIXMAP",
	0x300B: "EGL_BAD_NATIVE_WINDOW",
	0x300C: "EGL_BAD_PARAMETER",
	0x300D: "EGL_BAD_SURFACE",
	0x300E: "EGL_CONTEXT_LOST",
}

// extensions is a set of extension names.
type extensions map[string]bool

func parseExtensions(s string) extensions {
	set := extensions{}
	for name := range strings.FieldsSeq(s) {
		set[name] = true
	}
	return set
}
