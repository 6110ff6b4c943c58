//go:build cgo && linux && egl

#include <stddef.h>

// With the tag egl, go-gl links libEGL for the one function below, which its own
// gl.Init would use. This package never calls gl.Init, it passes the loader the
// address function of the library it opened with dlopen. Defining the symbol
// here, together with --as-needed, leaves nothing for the linker to take from
// libEGL, so the program starts where there is none.
__attribute__((visibility("hidden"))) void *eglGetProcAddress(const char *name) {
	(void)name;
	return NULL;
}
