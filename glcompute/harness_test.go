package glcompute

import (
	"os"
	"testing"
)

// TestMain runs the tests through Main, as a program with the GLFW backend does.
func TestMain(m *testing.M) {
	os.Exit(Main(m.Run))
}
