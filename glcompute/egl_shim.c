//go:build cgo && linux

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <EGL/egl.h>
#include <EGL/eglext.h>

#include "egl_shim.h"

struct shim_egl {
	PFNEGLGETPROCADDRESSPROC get_proc_address;
	PFNEGLGETERRORPROC get_error;
	PFNEGLQUERYSTRINGPROC query_string;
	PFNEGLGETDISPLAYPROC get_display;
	PFNEGLINITIALIZEPROC initialize;
	PFNEGLTERMINATEPROC terminate;
	PFNEGLBINDAPIPROC bind_api;
	PFNEGLCHOOSECONFIGPROC choose_config;
	PFNEGLCREATECONTEXTPROC create_context;
	PFNEGLMAKECURRENTPROC make_current;
	PFNEGLDESTROYCONTEXTPROC destroy_context;
	PFNEGLRELEASETHREADPROC release_thread;
	// Extensions of the client library; NULL where it has none of them.
	PFNEGLGETPLATFORMDISPLAYEXTPROC get_platform_display;
	PFNEGLQUERYDEVICESEXTPROC query_devices;
	PFNEGLQUERYDEVICESTRINGEXTPROC query_device_string;
};

static int core(void *lib, const char *name, void *slot, char **err) {
	void *p = dlsym(lib, name);
	if (p == NULL) {
		const char *why = dlerror();
		*err = strdup(why != NULL ? why : name);
		return 0;
	}
	memcpy(slot, &p, sizeof p);
	return 1;
}

static void extension(shim_egl *e, const char *name, void *slot) {
	__eglMustCastToProperFunctionPointerType p = e->get_proc_address(name);
	memcpy(slot, &p, sizeof p);
}

shim_egl *shim_load(const char *file, char **err) {
	*err = NULL;
	// The library stays loaded for the life of the process: drivers keep
	// threads and exit handlers that do not survive dlclose.
	void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (lib == NULL) {
		*err = strdup(dlerror());
		return NULL;
	}
	shim_egl *e = calloc(1, sizeof *e);
	if (e == NULL) {
		*err = strdup("out of memory");
		return NULL;
	}
	if (!core(lib, "eglGetProcAddress", &e->get_proc_address, err) ||
	    !core(lib, "eglGetError", &e->get_error, err) ||
	    !core(lib, "eglQueryString", &e->query_string, err) ||
	    !core(lib, "eglGetDisplay", &e->get_display, err) ||
	    !core(lib, "eglInitialize", &e->initialize, err) ||
	    !core(lib, "eglTerminate", &e->terminate, err) ||
	    !core(lib, "eglBindAPI", &e->bind_api, err) ||
	    !core(lib, "eglChooseConfig", &e->choose_config, err) ||
	    !core(lib, "eglCreateContext", &e->create_context, err) ||
	    !core(lib, "eglMakeCurrent", &e->make_current, err) ||
	    !core(lib, "eglDestroyContext", &e->destroy_context, err) ||
	    !core(lib, "eglReleaseThread", &e->release_thread, err)) {
		free(e);
		return NULL;
	}
	extension(e, "eglGetPlatformDisplayEXT", &e->get_platform_display);
	extension(e, "eglQueryDevicesEXT", &e->query_devices);
	extension(e, "eglQueryDeviceStringEXT", &e->query_device_string);
	return e;
}

uintptr_t shim_proc(shim_egl *e, const char *name) { return (uintptr_t)e->get_proc_address(name); }

int shim_error(shim_egl *e) { return e->get_error(); }

const char *shim_query_string(shim_egl *e, uintptr_t display, int name) {
	return e->query_string((EGLDisplay)display, name);
}

int shim_query_devices(shim_egl *e, int max, uintptr_t *devices) {
	EGLint n = 0;
	if (e->query_devices == NULL || !e->query_devices(max, (EGLDeviceEXT *)devices, &n)) {
		return -1;
	}
	return n;
}

const char *shim_query_device_string(shim_egl *e, uintptr_t device, int name) {
	return e->query_device_string == NULL ? NULL : e->query_device_string((EGLDeviceEXT)device, name);
}

uintptr_t shim_display(shim_egl *e, int platform, uintptr_t native) {
	if (platform == 0) {
		return (uintptr_t)e->get_display(EGL_DEFAULT_DISPLAY);
	}
	if (e->get_platform_display == NULL) {
		return 0;
	}
	return (uintptr_t)e->get_platform_display(platform, (void *)native, NULL);
}

int shim_initialize(shim_egl *e, uintptr_t display, int *major, int *minor) {
	return e->initialize((EGLDisplay)display, major, minor);
}

void shim_terminate(shim_egl *e, uintptr_t display) { e->terminate((EGLDisplay)display); }

int shim_bind_desktop_gl(shim_egl *e) { return e->bind_api(EGL_OPENGL_API); }

int shim_choose_config(shim_egl *e, uintptr_t display, uintptr_t *config) {
	const EGLint want[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE};
	EGLint n = 0;
	return e->choose_config((EGLDisplay)display, want, (EGLConfig *)config, 1, &n) ? n : 0;
}

uintptr_t shim_create_context(shim_egl *e, uintptr_t display, uintptr_t config, uintptr_t share, const int32_t *attributes) {
	return (uintptr_t)e->create_context((EGLDisplay)display, (EGLConfig)config, (EGLContext)share, attributes);
}

int shim_make_current(shim_egl *e, uintptr_t display, uintptr_t context) {
	return e->make_current((EGLDisplay)display, EGL_NO_SURFACE, EGL_NO_SURFACE, (EGLContext)context);
}

void shim_destroy_context(shim_egl *e, uintptr_t display, uintptr_t context) {
	e->destroy_context((EGLDisplay)display, (EGLContext)context);
}

void shim_release_thread(shim_egl *e) { e->release_thread(); }

const char *shim_gl_string(uintptr_t get_string, unsigned name) {
	return ((const char *(*)(unsigned))get_string)(name);
}

void shim_gl_ubytes_indexed(uintptr_t get_unsigned_bytei_v, unsigned name, unsigned index, unsigned char *data) {
	((void (*)(unsigned, unsigned, unsigned char *))get_unsigned_bytei_v)(name, index, data);
}
