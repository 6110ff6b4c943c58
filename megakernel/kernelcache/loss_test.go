package kernelcache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestAfterALossEverythingIsBuiltOnTheNewDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := newFake()
		w := openWorld(t, old, true)
		held, err := w.Wait(context.Background(), "a")
		if err != nil {
			t.Fatal(err)
		}
		w.wait(t, "b")
		w.wait(t, "c")
		old.refuse = func(string) error { return errors.New("broken") }
		w.Get("d")
		synctest.Wait()
		old.refuse = nil
		old.stopCompiling = make(chan struct{})
		w.Get("under way")
		synctest.Wait()

		dev := newFake()
		dev.next = 1000
		w.Move(target(dev, true))
		w.dev = dev
		if w.Ready("a") {
			t.Error("a program of the lost device is given out")
		}
		w.Get("d") // failures are forgotten
		close(old.stopCompiling)
		synctest.Wait()
		if !w.ready("a", "b", "c", "d", "under way") || len(dev.sources()) != 5 {
			t.Errorf("built %v", dev.sources())
		}
		if len(old.deleted) != 0 {
			t.Errorf("deleted on the lost device: %v", old.deleted)
		}
		p, _ := w.Get("a")
		if p == nil || p.ID.Program <= 1000 || p == held {
			t.Errorf("%+v", p)
		}
		w.Release(p)
		w.Release(held)
		w.close(t)
	})
}

func TestABuildThatHangsOnALostDeviceHoldsUpNothingOnTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := newFake()
		w := openWorld(t, old, true)
		w.wait(t, "a")
		old.stopCompiling = make(chan struct{})
		w.Get("hangs")
		synctest.Wait()
		for range 2 { // the device that replaces it may be lost too
			w.dev = newFake()
			w.Move(target(w.dev, true))
			for _, key := range []string{"a", "hangs", "new"} {
				p, err := w.Wait(t.Context(), key)
				if err != nil {
					t.Fatal(err)
				}
				w.Release(p)
			}
		}
		w.close(t)
		close(old.stopCompiling) // after Close, which did not wait for it
		synctest.Wait()
	})
}

// TestMoveMayChangeWhoBuilds: a second context need not open on the new device.
func TestMoveMayChangeWhoBuilds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openWorld(t, newFake(), true)
		w.wait(t, "a")
		w.dev = newFake()
		w.Move(target(w.dev, false))
		synctest.Wait()
		if w.Ready("a") || !w.BuildOne() || !w.Ready("a") {
			t.Error("want a built by the caller, on the device without a second context")
		}
		w.dev = newFake()
		w.Move(target(w.dev, true))
		synctest.Wait()
		if !w.Ready("a") || w.BuildOne() {
			t.Error("want a built in the background again")
		}
		w.close(t)
	})
}

// lostError is what glcompute's errors look like from here.
type lostError struct{}

func (lostError) Error() string { return "the context is lost" }
func (lostError) Lost() bool    { return true }

func TestLossIsNotBlamedOnTheKernel(t *testing.T) {
	dev := newFake()
	dev.refuse = func(string) error { return errors.Join(errors.New("compile"), lostError{}) }
	w := openWorld(t, dev, false)
	defer w.close(t)
	if _, err := w.Wait(context.Background(), "a"); !errors.As(err, &lostError{}) {
		t.Errorf("%v", err)
	}
	if log := w.log.Take(); log != nil {
		t.Errorf("reported: %q", log)
	}
}
