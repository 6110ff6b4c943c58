//go:build cgo && linux

package glcompute

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"
)

// missing skips a test that cannot run here, or fails it if RINGMASTER_REQUIRE
// lists gl. It is the only skip of this package.
func missing(t testing.TB, why any) {
	t.Helper()
	for item := range strings.SplitSeq(os.Getenv("RINGMASTER_REQUIRE"), ",") {
		if strings.TrimSpace(item) == "gl" {
			t.Fatalf("RINGMASTER_REQUIRE has gl: %v", why)
		}
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

// do runs fn on the device's thread and fails the test on its error or on one
// that GL has pending.
func do(t testing.TB, d *Device, fn func() error) {
	t.Helper()
	err := d.Do(func() error {
		if err := fn(); err != nil {
			return err
		}
		return d.Check()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// readSource reads a shader of testdata.
func readSource(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func words(b []byte) []uint32 {
	w := make([]uint32, len(b)/4)
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return w
}
