//go:build cgo

package megakernel

import (
	"sync/atomic"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
)

// TestWavesOfAllSizesShareTheirPages has slots that yield go through waves that
// work on the host's memory and waves that do not, of the same pages.
func TestWavesOfAllSizesShareTheirPages(t *testing.T) {
	for name, dev := range waysOfMemory(openDevice(t)) {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, dev, nil)
			const n = 900
			b := Batch{ID: "b", WantResults: true}
			for i := range uint32(n) {
				b.Slots = append(b.Slots, slot(kernel.OpAdd, 2, i+1, i), slot(kernel.OpYield, 2, i%4), slot(kernel.OpCompareSwap, 2, i+n, 0, i))
			}
			submit(t, e, "q", b)
			var finished []BatchResult
			for i := 0; e.Pending("q") > 0; i++ {
				if i == 20 {
					e.Statuses() // from now on a picture is drawn
				}
				r := launch(t, e, Order{Queue: "q", Geometry: testGeometryAt([]uint32{10, 256, 1000, 3}[i%4])})
				finished = append(finished, r.Finished...)
			}
			if len(finished) != 1 || finished[0].Executed != 3*n {
				t.Fatalf("finished %+v", finished)
			}
			words := make([]uint32, 2*n)
			if err := e.Read("q", 0, words); err != nil {
				t.Fatal(err)
			}
			for i := range uint32(n) {
				if words[i] != i+1 || words[n+i] != i {
					t.Fatalf("words of slot %d: %d, %d", i, words[i], words[n+i])
				}
			}
		})
	}
}

// chainedDevice counts the dispatches that drain a cold list.
type chainedDevice struct {
	gpu.Device
	chained atomic.Int32
}

func (d *chainedDevice) DispatchIndirect(program gpu.Program, buffer gpu.Buffer, offset int) {
	d.chained.Add(1)
	d.Device.DispatchIndirect(program, buffer, offset)
}

func TestNothingIsChainedBehindAFusedKernelOfAllTheSlots(t *testing.T) {
	dev := &chainedDevice{Device: openDevice(t)}
	e := newEngine(t, dev, nil)
	order := Order{Queue: "q", Geometry: testGeometry, Fuse: true}
	run := func(op kernel.Opcode, n int) (r Report) {
		b := Batch{ID: "b"}
		for i := range uint32(n) {
			b.Slots = append(b.Slots, slot(op, 2, 1, i))
		}
		submit(t, e, "q", b)
		for e.Pending("q") > 0 {
			r = launch(t, e, order)
		}
		return r
	}
	for range 200 {
		if run(kernel.OpAdd, 2000).Kernel.Kind == kernel.Exact {
			break
		}
	}
	dev.chained.Store(0)
	if r := run(kernel.OpAdd, 100); r.Kernel.Kind != kernel.Exact || dev.chained.Load() != 0 {
		t.Errorf("%s, %d dispatches behind it", r.Kernel, dev.chained.Load())
	}
	if r := run(kernel.OpStore, 1); r.Kernel.Kind != kernel.Fused || r.Executed != 1 || dev.chained.Load() != 1 {
		t.Errorf("%s executed %d, %d dispatches behind it", r.Kernel, r.Executed, dev.chained.Load())
	}
}
