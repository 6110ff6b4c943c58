//go:build cgo

package megakernel

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernelcache/disk"
	"ringmaster/ring"
)

// compilingDevice counts what is compiled from source.
type compilingDevice struct {
	gpu.Device
	compiled int
}

func (d *compilingDevice) CompileCompute(source string) (gpu.Program, error) {
	d.compiled++
	return d.Device.CompileCompute(source)
}

func TestLeasesKernelIsKeptForTheNextStart(t *testing.T) {
	dev := &compilingDevice{Device: openDevice(t)}
	if !dev.Supports("program-binary") {
		t.Fatal("the driver has no program binaries; on Mesa, its shader cache has to be writable")
	}
	path := t.TempDir()
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	binaries, err := disk.Open(disk.DefaultConfig(path))
	if err != nil {
		t.Fatal(err)
	}
	defer binaries.Close()
	var log bytes.Buffer
	open := func() (compiled int, said string) {
		t.Helper()
		dev.compiled = 0
		log.Reset()
		l, _ := openLease(t, dev, 64, func(c *LeaseConfig) {
			c.Binaries, c.Log = binaries, slog.New(slog.NewTextHandler(&log, nil))
		})
		status, result := published(1), make([]uint32, 1)
		if err := l.Do(Window{Length: 64}, []ring.Slot{slot(OpStore, 0, 5, 5)}, status, result); err != nil || status[0].State() != ring.Done {
			t.Fatalf("%s, %v", status[0], err)
		}
		return dev.compiled, log.String()
	}
	const kernels = 1
	if n, said := open(); n != kernels || said != "" {
		t.Errorf("first start: compiled %d, logged %q", n, said)
	}
	if n, said := open(); n != 0 || said != "" {
		t.Errorf("second start: compiled %d, logged %q", n, said)
	}
	files, _ := filepath.Glob(filepath.Join(path, "*"))
	if len(files) != kernels {
		t.Fatalf("files %v", files)
	}
	if err := os.Truncate(files[0], 100); err != nil {
		t.Fatal(err)
	}
	if n, said := open(); n != 1 || !strings.Contains(said, "lease-") || !strings.Contains(said, "built again") {
		t.Errorf("damaged: compiled %d, logged %q", n, said)
	}
	if n, said := open(); n != 0 || said != "" {
		t.Errorf("mended: compiled %d, logged %q", n, said)
	}
}
