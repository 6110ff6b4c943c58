//go:build cgo && linux && noglfw

package glcompute

import "errors"

// glfwWay is closed in a build without GLFW.
func glfwWay(Config) way {
	return closedWay(string(GLFW), "", errors.New("built without GLFW (tag noglfw)"))
}
