//go:build cgo && linux && noglfw

package glcompute

import "errors"

// openGLFW reports that the build has no GLFW.
func openGLFW(Config) (context, Attempt) {
	return nil, Attempt{
		Backend: string(GLFW),
		Err:     errors.New("glcompute: built without GLFW (tag noglfw)"),
	}
}
