//go:build cgo

package megakernel

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

var errInjected = errors.New("injected")

// faultyDevice is a real device whose calls can be made to fail.
type faultyDevice struct {
	gpu.Device
	dispatches  int
	compiles    int
	deletes     int
	failAt      func(dispatch int) bool // the dispatch is dropped and Check reports it
	failCompile bool
	corrupt     func(data []byte) // changes what a read returns
	pending     error
	hold        chan struct{} // waits for fences see nothing done until it is closed; nil: it is
}

func (d *faultyDevice) WaitFence(fence gpu.Fence, timeoutNs uint64) (bool, error) {
	if d.hold != nil {
		select {
		case <-d.hold:
		default:
			return false, nil
		}
	}
	return d.Device.WaitFence(fence, timeoutNs)
}

func (d *faultyDevice) Dispatch(program gpu.Program, groups uint32) {
	d.dispatches++
	if d.failAt != nil && d.failAt(d.dispatches) {
		d.pending = errInjected
		return
	}
	d.Device.Dispatch(program, groups)
}

func (d *faultyDevice) Check() error {
	err := errors.Join(d.pending, d.Device.Check())
	d.pending = nil
	return err
}

func (d *faultyDevice) CompileCompute(source string) (gpu.Program, error) {
	d.compiles++
	if d.failCompile {
		source = "#version 430 core\nvoid main() { this is no GLSL }\n"
	}
	return d.Device.CompileCompute(source)
}

func (d *faultyDevice) DeleteProgram(program gpu.Program) {
	d.deletes++
	d.Device.DeleteProgram(program)
}

func (d *faultyDevice) LoadMapped(buffer gpu.Buffer, offset int, dst []byte) {
	d.Device.LoadMapped(buffer, offset, dst)
	if d.corrupt != nil {
		d.corrupt(dst)
	}
}

func (d *faultyDevice) ReadBuffer(buffer gpu.Buffer, offset int, dst []byte) {
	d.Device.ReadBuffer(buffer, offset, dst)
	if d.corrupt != nil {
		d.corrupt(dst)
	}
}

func TestNothingIsLostWhenDispatchesFail(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	dev := &faultyDevice{Device: openDevice(t), failAt: func(int) bool { return r.IntN(3) == 0 }}
	e := newEngine(t, dev, nil)
	const batches, each = 30, 400
	for i := range uint32(batches) {
		var slots []ring.Slot
		for a := range uint32(each) {
			slots = append(slots, slot(kernel.OpAdd, a%5, 1, i*each+a))
			if a == each/2 {
				slots = append(slots, slot(kernel.OpFence, 0))
			}
		}
		submit(t, e, "q", Batch{ID: "b", Tag: uint64(i), Slots: slots})
	}
	var tags []uint64
	failed := 0
	for e.Pending("q") > 0 {
		report, err := e.Launch(Order{Queue: "q", Geometry: testGeometryAt(700)})
		if err != nil {
			failed++
			if !errors.Is(err, errInjected) || len(report.Finished) > 0 || report.Executed > 0 {
				t.Fatalf("error %v, report %+v", err, report)
			}
		}
		for _, b := range report.Finished {
			tags = append(tags, b.Tag)
			if b.Executed != each+1 || b.Faulted != 0 {
				t.Errorf("batch %+v", b)
			}
		}
	}
	slices.Sort(tags)
	for i, tag := range tags {
		if tag != uint64(i) {
			t.Fatalf("finished %v", tags)
		}
	}
	if len(tags) != batches || failed == 0 {
		t.Errorf("%d batches finished, %d launches failed", len(tags), failed)
	}
	// The failing dispatches did not reach the device, so every add ran once.
	got := make([]uint32, batches*each)
	if err := e.Read("q", 0, got); err != nil || slices.Min(got) != 1 || slices.Max(got) != 1 {
		t.Errorf("words from %d to %d, error %v", slices.Min(got), slices.Max(got), err)
	}
}

func TestBatchWaitsWhileTheKernelDoesNotCompile(t *testing.T) {
	dev := &faultyDevice{Device: openDevice(t), failCompile: true}
	e := newEngine(t, dev, nil)
	submit(t, e, "q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpNop, 0)}})
	for range 2 {
		if r, err := e.Launch(Order{Queue: "q", Geometry: testGeometry}); err == nil || r.Pending != 1 || r.Fingerprint != [32]byte{} {
			t.Errorf("error %v, report %+v", err, r)
		}
	}
	dev.failCompile = false
	if r := launch(t, e, Order{Queue: "q", Geometry: testGeometry}); r.Executed != 1 || r.Pending != 0 {
		t.Errorf("report %+v", r)
	}
}

func TestPendingWorkMovesToAnotherDevice(t *testing.T) {
	lost, next := &faultyDevice{Device: openDevice(t)}, openDevice(t)
	e := newEngine(t, lost, nil)
	var slots []ring.Slot
	for i := range uint32(2000) {
		slots = append(slots, slot(kernel.OpStore, i%5, i, i))
	}
	submit(t, e, "q", Batch{ID: "b", Slots: slots})
	launch(t, e, Order{Queue: "q", Geometry: testGeometryAt(500)})
	lost.failAt = func(int) bool { return true }
	if _, err := e.Launch(Order{Queue: "q", Geometry: testGeometryAt(500)}); err == nil {
		t.Fatal("a launch on the lost device succeeded")
	}
	if err := e.Move(next); err != nil {
		t.Fatal(err)
	}
	// All of it runs again: what ran before is lost with the window.
	if e.Pending("q") != len(slots) {
		t.Errorf("%d slots pending", e.Pending("q"))
	}
	finished, _ := drainQueue(t, e, Order{Queue: "q", Geometry: testGeometry})
	if len(finished) != 1 || finished[0].Executed != uint32(len(slots)) {
		t.Errorf("finished %+v", finished)
	}
	got := make([]uint32, len(slots))
	if err := e.Read("q", 0, got); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v != uint32(i) {
			t.Fatalf("word %d is %d", i, v)
		}
	}
}

func TestInconsistentMemoryFailsTheLaunchAndSettlesNothing(t *testing.T) {
	dev := &faultyDevice{Device: openDevice(t)}
	e := newEngine(t, dev, nil)
	slots := slices.Repeat([]ring.Slot{slot(kernel.OpNop, 0)}, ring.PageSlots)
	submit(t, e, "q", Batch{ID: "b", Slots: slots})
	for name, corrupt := range map[string]func([]byte){
		"a done slot looks unreached": func(data []byte) {
			if len(data) == ring.PageSlots*ring.WordBytes && data[0] == byte(ring.Done) {
				data[0] = byte(ring.Published)
			}
		},
		"a state that no kernel writes": func(data []byte) {
			if len(data) == ring.PageSlots*ring.WordBytes && data[0] == byte(ring.Done) {
				data[0] = ring.StatusStateMask
			}
		},
	} {
		dev.corrupt = corrupt
		if r, err := e.Launch(Order{Queue: "q", Geometry: testGeometry}); !errors.Is(err, ErrDevice) || r.Pending != len(slots) || len(r.Finished) > 0 {
			t.Errorf("%s: error %v, report %+v", name, err, r)
		}
	}
	dev.corrupt = nil
	if r := launch(t, e, Order{Queue: "q", Geometry: testGeometry}); len(r.Finished) != 1 || r.Finished[0].Executed != ring.PageSlots {
		t.Errorf("report %+v", r)
	}
}

func TestProgramsAreCompiledOnceAndTheLeastRecentGoes(t *testing.T) {
	dev := &faultyDevice{Device: openDevice(t)}
	e := newEngine(t, dev, func(c *Config) { c.Programs = 2 })
	for i, step := range []struct {
		width            uint32
		compiles, delete int
	}{{8, 1, 0}, {16, 2, 0}, {8, 2, 0}, {32, 3, 1}, {8, 3, 1}, {16, 4, 2}} {
		submit(t, e, "q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpNop, 0)}})
		launch(t, e, Order{Queue: "q", Geometry: policy.Geometry{Width: step.width, Groups: 1, Chunk: 8}})
		if dev.compiles != step.compiles || dev.deletes != step.delete {
			t.Errorf("step %d: %d compiled, %d deleted, want %d and %d", i, dev.compiles, dev.deletes, step.compiles, step.delete)
		}
	}
}

func TestSubmitWhileLaunching(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	const producers, batches, each = 3, 40, 100
	if err := e.Write("q", 0, []uint32{0}); err != nil {
		t.Fatal(err)
	}
	var producing sync.WaitGroup
	for p := range producers {
		producing.Go(func() {
			for range batches {
				slots := slices.Repeat([]ring.Slot{slot(kernel.OpAdd, uint32(p), 1, 0)}, each)
				if err := e.Submit("q", Batch{ID: "b", Slots: slots}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { producing.Wait(); close(done) }()
	finished := 0
	for running := true; running || e.Pending("q") > 0; {
		select {
		case <-done:
			running = false
		default:
		}
		r := launch(t, e, Order{Queue: "q", Geometry: testGeometry})
		finished += len(r.Finished)
	}
	sum := make([]uint32, 1)
	if err := e.Read("q", 0, sum); err != nil || sum[0] != producers*batches*each || finished != producers*batches {
		t.Errorf("sum %d, %d batches, error %v", sum[0], finished, err)
	}
}
