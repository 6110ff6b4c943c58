//go:build cgo

package lease

import (
	"os"
	"slices"
	"strings"
	"testing"

	"ringmaster/glcompute"
	"ringmaster/megakernel/gpu"
)

// openDevice opens a GL device for a test. Without one the test is skipped,
// or fails if RINGMASTER_REQUIRE lists gl.
func openDevice(t testing.TB) gpu.Device {
	t.Helper()
	dev, _, err := glcompute.Open(glcompute.Config{})
	if err != nil {
		if slices.Contains(strings.Split(os.Getenv("RINGMASTER_REQUIRE"), ","), "gl") {
			t.Fatalf("RINGMASTER_REQUIRE lists gl: %v", err)
		}
		t.Skipf("no GL device: %v", err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev
}
