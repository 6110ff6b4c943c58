package gltest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"ringmaster/glcompute"
)

// Missing skips a test that cannot run here, or fails it if RINGMASTER_REQUIRE, a list with commas
// between its words, has what the test needs.
func Missing(t testing.TB, what string, why error) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("RINGMASTER_REQUIRE"), ","), what) {
		t.Fatalf("RINGMASTER_REQUIRE lists %s: %v", what, why)
	}
	t.Skipf("no %s: %v", what, why)
}

// OpenUnclosed opens a device that the caller closes. Without one the test ends by Missing.
func OpenUnclosed(t testing.TB) *glcompute.Device {
	t.Helper()
	device, _, err := glcompute.Open(glcompute.Config{})
	if err != nil {
		Missing(t, "gl", err)
	}
	return device
}

// Open opens a device that is closed when the test ends. Without one the test ends by Missing.
func Open(t testing.TB) *glcompute.Device {
	t.Helper()
	device := OpenUnclosed(t)
	t.Cleanup(func() {
		if err := device.Close(); err != nil {
			t.Error(err)
		}
	})
	return device
}

// Beside opens a second context of a device's share group, which is closed when the test ends.
func Beside(t testing.TB, device *glcompute.Device) *glcompute.Device {
	t.Helper()
	beside, err := device.OpenShared()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := beside.Close(); err != nil {
			t.Error(err)
		}
	})
	return beside
}
