package glcompute

import (
	"os"
	"strings"
	"testing"
)

// TestMain runs the tests through Main, as a program with the GLFW backend does.
func TestMain(m *testing.M) {
	os.Exit(Main(m.Run))
}

// required reports whether RINGMASTER_REQUIRE lists name, which forbids skipping.
func required(name string) bool {
	for item := range strings.SplitSeq(os.Getenv("RINGMASTER_REQUIRE"), ",") {
		if strings.TrimSpace(item) == name {
			return true
		}
	}
	return false
}

// missing skips a test that cannot run here, or fails it if GL is required.
func missing(t testing.TB, why any) {
	t.Helper()
	if required("gl") {
		t.Fatalf("RINGMASTER_REQUIRE has gl: %v", why)
	}
	t.Skip(why)
}

// openDevice opens a device that is closed when the test ends.
func openDevice(t testing.TB, cfg Config) *Device {
	t.Helper()
	d, _, err := Open(cfg)
	if err != nil {
		missing(t, err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}
