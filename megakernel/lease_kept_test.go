//go:build cgo

package megakernel

import (
	"os"
	"sync/atomic"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/kernelcache/disk"
	"ringmaster/ring"
)

// compilingDevice counts compilations.
type compilingDevice struct {
	gpu.Device
	compiled atomic.Int32
}

func (d *compilingDevice) CompileCompute(source string) (gpu.Program, error) {
	d.compiled.Add(1)
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
	binaries, err := disk.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer binaries.Close()
	for start, want := range []int32{1, 0} {
		dev.compiled.Store(0)
		e := newEngine(t, dev, func(c *Config) { c.Lease, c.Binaries = true, binaries })
		submit(t, e, "q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpStore, 0, 5, 5)}})
		if r := launch(t, e, Order{Queue: "q", Geometry: testGeometry, Mode: ModeLease}); !r.Leased || r.Executed != 1 {
			t.Errorf("start %d: %+v", start, r)
		}
		if n := dev.compiled.Load(); n != want {
			t.Errorf("start %d: %d compilations, want %d", start, n, want)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
