//go:build cgo

package megakernel

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

// sluggishDevice is one whose driver takes its time to allocate.
type sluggishDevice struct {
	gpu.Device
	once        sync.Once
	began, gate chan struct{}
}

func (d *sluggishDevice) Do(fn func() error) error {
	d.once.Do(func() { close(d.began); <-d.gate })
	return d.Device.Do(fn)
}

// While a driver rebuilds, what only needs the books does not wait for it, and what
// needs the device finds the other one.
func TestARebuildHoldsUpOnlyWhatNeedsTheDevice(t *testing.T) {
	next := &sluggishDevice{Device: openDevice(t), began: make(chan struct{}), gate: make(chan struct{})} // closed after the engine
	e := newEngine(t, openDevice(t), nil)
	old, err := e.Upload("q", 0, []uint32{1})
	if err != nil {
		t.Fatal(err)
	}
	reads := []ring.Slot{slot(kernel.OpLoad, 2, 0)}
	submit(t, e, "q", Batch{ID: "victim", Slots: nops(100, 2)})
	submit(t, e, "q", Batch{ID: "reads", Slots: reads})
	moved, waited, uploaded := make(chan error, 1), make(chan error, 1), make(chan uint64, 1)
	go func() { moved <- e.Move(next) }()
	<-next.began

	if err := e.Submit("q", Batch{Slots: nops(1, 2)}); !errors.Is(err, ErrMoving) {
		t.Errorf("submit: %v", err)
	}
	if n, slots := e.Cancel("q", "victim"); n != 1 || slots != 100 || e.Pending("q") != 1 {
		t.Errorf("canceled %d batches, %d slots; %d pending", n, slots, e.Pending("q"))
	}
	go func() {
		err := ErrMoving
		for errors.Is(err, ErrMoving) {
			runtime.Gosched()
			err = e.Submit("q", Batch{ID: "late", Slots: nops(5, 2)})
		}
		waited <- err
	}()
	go func() {
		epoch, err := e.Upload("q", 0, []uint32{7})
		if err != nil {
			t.Error(err)
		}
		uploaded <- epoch
	}()
	close(next.gate)
	for _, c := range []chan error{moved, waited} {
		if err := <-c; err != nil {
			t.Fatal(err)
		}
	}
	if epoch := <-uploaded; epoch <= old {
		t.Errorf("uploaded under epoch %d, the lost heap was of %d", epoch, old)
	}
	finished := map[string]BatchResult{}
	for e.Pending("q") > 0 || len(finished) < 3 {
		for _, b := range launch(t, e, Order{Queue: "q", Geometry: testGeometry}).Finished {
			finished[b.ID] = b
		}
	}
	if b := finished["victim"]; b.Dropped != 100 || !errors.Is(b.Err, ErrCanceled) {
		t.Errorf("victim: %+v", b)
	}
	if b := finished["reads"]; b.Dropped != 1 || !errors.Is(b.Err, ErrHeapLost) {
		t.Errorf("reads: %+v", b)
	}
	if b := finished["late"]; b.Executed != 5 {
		t.Errorf("late: %+v", b)
	}
	word := make([]uint32, 1)
	if err := e.Read("q", 0, word); err != nil || word[0] != 7 {
		t.Errorf("word %d, %v", word[0], err)
	}
}
