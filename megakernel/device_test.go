//go:build cgo

package megakernel

import (
	"testing"

	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel/gpu"
)

func openDevice(t testing.TB) gpu.Device {
	t.Helper()
	return gltest.Open(t)
}

func newEngine(t testing.TB, dev gpu.Device, change func(*Config)) *Engine {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Pages, cfg.MaxQueues, cfg.HeapWords = 128, 16, 16<<16 // a software renderer clears them soon
	if change != nil {
		change(&cfg)
	}
	e, err := New(dev, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}
