//go:build cgo

package megakernel

import (
	"testing"
)

func TestDeviceHasALeaseAndSaysHowLong(t *testing.T) {
	dev := openDevice(t)
	l, heap := openLease(t, dev, 1<<10, nil)
	s := l.Support()
	if s.Turn <= 0 || s.Round <= 0 || s.Turns <= l.round || s.Kernels < 1 {
		t.Errorf("%+v", s)
	}
	t.Log(s)
	_ = heap
}

// openLease opens a lease on a heap of its own.
func openLease(t testing.TB, dev Device, heapWords int, change func(*LeaseConfig)) (l *Resident, heap uint32) {
	t.Helper()
	cfg := LeaseConfig{HeapBytes: heapWords * 4}
	err := dev.Do(func() (err error) {
		heap, err = dev.NewBuffer(cfg.HeapBytes)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Heap = heap
	if change != nil {
		change(&cfg)
	}
	l, err = OpenLease(dev, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		dev.Do(func() error { dev.DeleteBuffer(heap); return nil })
	})
	return l, heap
}
