//go:build cgo && linux

package glcompute

import "strings"

// Names of EGL 1.5 and of the extensions that are used, from the Khronos
// registry (egl.xml).
const (
	eglNone       = 0x3038
	eglExtensions = 0x3055
	eglPbufferBit = 0x0001

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

// software tells whether a GL_RENDERER string names a rasteriser on the CPU.
func software(renderer string) bool {
	r := strings.ToLower(renderer)
	for _, name := range []string{"llvmpipe", "softpipe", "swrast", "swiftshader", "software rasterizer"} {
		if strings.Contains(r, name) {
			return true
		}
	}
	return false
}
