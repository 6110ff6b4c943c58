// Thin wrappers over libEGL, loaded with dlopen. One function here is one EGL
// call; the order of calls and every decision are in Go. Handles travel as
// integers: drivers are free to use small numbers for them, which Go's garbage
// collector rejects in a pointer.

#ifndef GLCOMPUTE_EGL_SHIM_H
#define GLCOMPUTE_EGL_SHIM_H

#include <stdint.h>

typedef struct shim_egl shim_egl;

// shim_load returns NULL and a message to free in *err if the library cannot be
// loaded or is not EGL 1.4 or newer.
shim_egl *shim_load(const char *file, char **err);

uintptr_t shim_proc(shim_egl *e, const char *name);
int shim_error(shim_egl *e);
const char *shim_query_string(shim_egl *e, uintptr_t display, int name);

int shim_query_devices(shim_egl *e, int max, uintptr_t *devices);
const char *shim_query_device_string(shim_egl *e, uintptr_t device, int name);

// shim_display with platform 0 is eglGetDisplay(EGL_DEFAULT_DISPLAY).
uintptr_t shim_display(shim_egl *e, int platform, uintptr_t native);
int shim_initialize(shim_egl *e, uintptr_t display, int *major, int *minor);
void shim_terminate(shim_egl *e, uintptr_t display);
int shim_bind_desktop_gl(shim_egl *e);
// shim_choose_config returns the number of configurations found, 0 or 1.
int shim_choose_config(shim_egl *e, uintptr_t display, uintptr_t *config);
// shim_create_context takes the context to share with, or 0, and attribute pairs
// ended by EGL_NONE.
uintptr_t shim_create_context(shim_egl *e, uintptr_t display, uintptr_t config, uintptr_t share, const int32_t *attributes);
int shim_make_current(shim_egl *e, uintptr_t display, uintptr_t context);
void shim_destroy_context(shim_egl *e, uintptr_t display, uintptr_t context);
void shim_release_thread(shim_egl *e);

// The GL calls that are needed before the GL loader has run, or that it lacks.
const char *shim_gl_string(uintptr_t get_string, unsigned name);
void shim_gl_ubytes_indexed(uintptr_t get_unsigned_bytei_v, unsigned name, unsigned index, unsigned char *data);

#endif
