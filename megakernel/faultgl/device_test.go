package faultgl

import (
	"errors"
	"sync"
	"testing"

	"ringmaster/megakernel/gpu"
)

// Some objects; nothing looks at them.
var (
	program = gpu.Program{Program: 1}
	buffer  = gpu.Buffer{Buffer: 2}
	fence   = gpu.Fence{Fence: 3}
)

// well is a device that counts what reaches it.
type well struct {
	gpu.Device
	dispatches, reads int
}

func (w *well) Dispatch(gpu.Program, uint32)                  { w.dispatches++ }
func (w *well) DispatchIndirect(gpu.Program, gpu.Buffer, int) { w.dispatches++ }
func (w *well) Finish()                                       {}
func (w *well) Check() error                                  { return nil }
func (w *well) ReadBuffer(gpu.Buffer, int, []byte)            { w.reads++ }
func (w *well) NewBuffer(int) (gpu.Buffer, error)             { return gpu.Buffer{Buffer: 1}, nil }
func (w *well) WaitFence(gpu.Fence, uint64) (bool, error)     { return true, nil }

func TestResetHappensAtItsDispatchAndStays(t *testing.T) {
	for _, kind := range []Kind{Guilty, Innocent, Unknown} {
		for _, after := range []bool{false, true} {
			w := &well{}
			d := Wrap(w, Fault{Kind: kind, Dispatch: 3, After: after})
			d.Dispatch(program, 1)
			d.DispatchIndirect(program, buffer, 0)
			if err := d.Check(); err != nil {
				t.Errorf("%s: before its dispatch: %v", kind, err)
			}
			for range 2 {
				d.Dispatch(program, 1)
				if err := d.Check(); !gpu.Lost(err) || !errors.Is(err, Loss{kind}) {
					t.Errorf("%s: %v", kind, err)
				}
			}
			reached := 2
			if after {
				reached = 3
			}
			if w.dispatches != reached || d.Dispatches() != 4 {
				t.Errorf("%s, after %v: %d of %d dispatches reached the device", kind, after, w.dispatches, d.Dispatches())
			}
			d.ReadBuffer(buffer, 0, nil)
			if _, err := d.NewBuffer(4); !gpu.Lost(err) || w.reads != 0 {
				t.Errorf("%s: a lost device was used: %v, %d reads", kind, err, w.reads)
			}
			if done, err := d.WaitFence(fence, 0); done || !gpu.Lost(err) {
				t.Errorf("%s: fence %v, %v", kind, done, err)
			}
		}
	}
}

func TestContextsOfAShareGroupAreResetTogether(t *testing.T) {
	d := Wrap(&well{}, Fault{Kind: Innocent, Dispatch: 1})
	w := &well{}
	beside := d.Beside(w)
	beside.Dispatch(program, 1)
	if err := beside.Check(); err != nil || w.dispatches != 1 {
		t.Errorf("before: %v, %d dispatches", err, w.dispatches)
	}
	d.Dispatch(program, 1)
	beside.Dispatch(program, 1)
	if err := beside.Check(); !gpu.Lost(err) || w.dispatches != 1 {
		t.Errorf("after: %v, %d dispatches", err, w.dispatches)
	}
}

func TestArmedFaultCountsFromThen(t *testing.T) {
	d := Wrap(&well{})
	d.Dispatch(program, 1)
	d.Arm(Fault{Kind: Unknown, Dispatch: 2})
	d.Dispatch(program, 1)
	if err := d.Check(); err != nil {
		t.Errorf("one dispatch too early: %v", err)
	}
	d.Dispatch(program, 1)
	if err := d.Check(); !gpu.Lost(err) {
		t.Errorf("%v", err)
	}
}

func TestHangBlocksWhoWaitsUntilItIsReleased(t *testing.T) {
	w := &well{}
	d := Wrap(w, Fault{Kind: Hang, Dispatch: 1})
	d.Dispatch(program, 1)
	<-d.Hung()
	for _, timeout := range []uint64{0, 1000} {
		if done, err := d.WaitFence(fence, timeout); done || err != nil {
			t.Errorf("fence of a hanging device: %v, %v", done, err)
		}
	}
	var waiting sync.WaitGroup
	finished := make(chan struct{})
	waiting.Go(func() { d.Finish(); close(finished) })
	waiting.Go(func() { d.ReadBuffer(buffer, 0, nil) })
	select {
	case <-finished:
		t.Error("Finish returned while the device hangs")
	default:
	}
	d.Release()
	d.Release()
	waiting.Wait()
	if err := d.Check(); !gpu.Lost(err) || w.reads != 0 {
		t.Errorf("after the release: %v, %d reads", err, w.reads)
	}
}
