//go:build cgo

package megakernel

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/program"
	"ringmaster/ring"
)

func TestSubmitRefusesWhatCanNeverRun(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.MaxBatchSlots, c.MaxPending, c.MaxQueues = 100, 250, 2 })
	nops := func(n int) []ring.Slot { return slices.Repeat([]ring.Slot{slot(kernel.OpNop, 0)}, n) }
	for name, slots := range map[string][]ring.Slot{
		"empty": nil, "too long": nops(101), "bad priority": {slot(kernel.OpNop, 0), slot(kernel.OpNop, ring.Priorities)},
	} {
		if err := e.Submit("q", Batch{ID: "b", Slots: slots}); !errors.Is(err, ErrBatch) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	submit(t, e, "q", Batch{ID: "b", Slots: nops(100)})
	submit(t, e, "r", Batch{ID: "b", Slots: nops(100)})
	if err := e.Submit("q", Batch{ID: "b", Slots: nops(51)}); !errors.Is(err, ErrBacklog) {
		t.Errorf("backlog: error %v", err)
	}
	if err := e.Submit("s", Batch{ID: "b", Slots: nops(1)}); !errors.Is(err, ErrQueues) {
		t.Errorf("third queue: error %v", err)
	}
	drainQueue(t, e, Order{Queue: "q", Geometry: testGeometry})
	submit(t, e, "q", Batch{ID: "b", Slots: nops(100)})
}

// TestBacklogOfOneQueueKeepsNoOtherFromRunning fills the smallest pool.
func TestBacklogOfOneQueueKeepsNoOtherFromRunning(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.MaxQueues, c.Pages = 3, 3*ring.Priorities+2 })
	slots := make([]ring.Slot, 30*ring.PageSlots)
	for i := range slots {
		slots[i] = slot(kernel.OpAdd, uint32(i%2), 1, uint32(i%1000))
	}
	submit(t, e, "greedy", Batch{ID: "b", Slots: slots})
	launch(t, e, Order{Queue: "greedy", Geometry: testGeometryAt(1)})
	for _, q := range []string{"p", "q"} {
		var batch []ring.Slot
		for p := range uint32(ring.Priorities) {
			batch = append(batch, slot(kernel.OpNop, p))
		}
		submit(t, e, q, Batch{ID: q, Slots: batch})
		if r := launch(t, e, Order{Queue: q, Geometry: testGeometry}); len(r.Finished) != 1 {
			t.Errorf("queue %s: %+v", q, r)
		}
	}
	finished, _ := drainQueue(t, e, Order{Queue: "greedy", Geometry: testGeometry})
	if len(finished) != 1 || finished[0].Executed != uint32(len(slots)) || e.Stats().FreePages != e.cfg.Pages {
		t.Errorf("finished %+v, %d pages free of %d", finished, e.Stats().FreePages, e.cfg.Pages)
	}
}

// Submit does not wait until many pages are written, whatever the number of processors here. A
// launch takes all that was submitted before it, written or not, and what is canceled meanwhile
// is reported once.
func TestALaunchWaitsForWhatIsStillWritten(t *testing.T) {
	for name, canceled := range map[string]int{"": 0, "canceled": 1} {
		for _, pages := range []int{handExtents, maxHands * handExtents} {
			t.Run(fmt.Sprint(name, pages, " pages"), func(t *testing.T) {
				entered, open := make(chan struct{}), make(chan struct{})
				dev := &gatedStaging{Device: openDevice(t)}
				e := newEngine(t, dev, nil)
				e.hands = maxHands
				many := pages * ring.PageSlots
				dev.gate.Store(&gate{entered, open})
				submit(t, e, "q", Batch{ID: "a", Slots: nops(many, 2)})
				<-entered
				submit(t, e, "q", Batch{ID: "b", Slots: nops(many, 2)})
				if canceled > 0 {
					if batches, _ := e.Cancel("q", "a"); batches != 1 {
						t.Errorf("%d batches canceled, want 1", batches)
					}
				}
				ticket := make(chan Ticket, 1)
				go func() {
					begun, err := e.Start(Order{Queue: "q", Geometry: testGeometryAt(0)})
					if err != nil {
						t.Error(err)
					}
					ticket <- begun
				}()
				for e.Stats().InFlight == 0 {
					runtime.Gosched()
				}
				if n := len(e.Finished("q")); n != 0 {
					t.Errorf("%d batches are reported while one is written and no launch has run", n)
				}
				close(open)
				r := wait(t, e, <-ticket)
				finished := append(r.Finished, e.Finished("q")...)
				if int(r.Executed) != (2-canceled)*many || len(finished) != 2 || e.Pending("q") != 0 {
					t.Errorf("%d slots executed, %d batches finished, %d slots pending", r.Executed, len(finished), e.Pending("q"))
				}
			})
		}
	}
}

func TestSteadyLaunchesAllocateNothingPerSlot(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	const n = 20_000
	slots := slices.Repeat([]ring.Slot{slot(kernel.OpAdd, 2, 1, 0)}, n)
	allocations := testing.AllocsPerRun(10, func() {
		submit(t, e, "q", Batch{ID: "b", Slots: slots})
		launch(t, e, Order{Queue: "q", Geometry: testGeometry})
	})
	if allocations > 50 {
		t.Errorf("%.0f allocations for %d slots", allocations, n)
	}
}

func TestSteadyLaunchAllocatesNothing(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	submit(t, e, "q", Batch{ID: "b", Slots: slices.Repeat([]ring.Slot{slot(kernel.OpAdd, 2, 1, 0)}, 1<<15)})
	order := Order{Queue: "q", Geometry: testGeometryAt(256)}
	allocations := testing.AllocsPerRun(100, func() {
		if r, err := e.Launch(order); err != nil || r.Executed != 256 {
			t.Fatal(r, err)
		}
	})
	if allocations > raceAllocations {
		t.Errorf("%.1f allocations a launch", allocations)
	}
}

// TestDriverLaysTheBlocksOutAsTheHost asks the driver where it put what the
// prelude declares.
func TestDriverLaysTheBlocksOutAsTheHost(t *testing.T) {
	dev := openDevice(t)
	var c ring.Control
	var s ring.Slot
	type place struct{ offset, stride int }
	want := map[string]place{
		"ControlBlock.ticket":           {int(unsafe.Offsetof(c.Ticket)), 0},
		"ControlBlock.executed":         {int(unsafe.Offsetof(c.Executed)), 0},
		"ControlBlock.faulted":          {int(unsafe.Offsetof(c.Faulted)), 0},
		"ControlBlock.unreached":        {int(unsafe.Offsetof(c.Unreached)), 0},
		"ControlBlock.chunks":           {int(unsafe.Offsetof(c.Chunks)), 0},
		"ControlBlock.local_size":       {int(unsafe.Offsetof(c.LocalSize)), 0},
		"ControlBlock.groups":           {int(unsafe.Offsetof(c.Groups)), 0},
		"ControlBlock.chunk":            {int(unsafe.Offsetof(c.Chunk)), 0},
		"ControlBlock.claim_budget":     {int(unsafe.Offsetof(c.ClaimBudget)), 0},
		"ControlBlock.step_budget":      {int(unsafe.Offsetof(c.StepBudget)), 0},
		"ControlBlock.opcode_counts[0]": {int(unsafe.Offsetof(c.OpcodeCounts)), ring.WordBytes},
		"slots[0].head":                 {int(unsafe.Offsetof(s.Opcode)), int(unsafe.Sizeof(s))},
		"slots[0].args[0]":              {int(unsafe.Offsetof(s.Args)), 16},
		"statuses[0]":                   {0, ring.WordBytes},
		"results[0]":                    {0, ring.WordBytes},
		"schedule[0]":                   {0, ring.WordBytes},
		"heap[0]":                       {0, ring.WordBytes},
	}
	driver := dev.(interface {
		StorageOffset(program gpu.Program, name string) (offset, stride int, err error)
	})
	err := dev.Do(func() error {
		p, err := program.Compile(dev, 64, kernel.BuiltIn().Source(kernel.Kernel{Kind: kernel.Interpreter, Width: 64}))
		if err != nil {
			return err
		}
		defer dev.DeleteProgram(p.ID)
		for name, w := range want {
			offset, stride, err := driver.StorageOffset(p.ID, name)
			if err != nil {
				return err
			}
			if (place{offset, stride}) != w {
				return fmt.Errorf("%s: offset %d, stride %d, want %d and %d", name, offset, stride, w.offset, w.stride)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// BenchmarkSubmit is how long a batch of slots as a run holds up whoever submits it.
func BenchmarkSubmit(b *testing.B) {
	for _, c := range []struct{ slots, hands int }{{1024, 1}, {1024, maxHands}, {4096, 1}, {4096, maxHands}} {
		b.Run(fmt.Sprintf("%d slots, %d hands", c.slots, c.hands), func(b *testing.B) {
			e := newEngine(b, openDevice(b), nil)
			e.hands = c.hands
			for b.Loop() {
				work := Batch{ID: "b", Runs: []Run{{Opcode: uint32(kernel.OpNop), Priority: ring.PriorityNormal, Count: c.slots}}}
				if err := e.Submit("q", work); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if r, err := e.Launch(Order{Queue: "q", Geometry: testGeometry}); err != nil || int(r.Executed) != c.slots {
					b.Fatal(r, err)
				}
				b.StartTimer()
			}
		})
	}
}
