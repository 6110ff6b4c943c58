//go:build cgo

package megakernel

import (
	"testing"

	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

// TestLongCopiesFinishOverSeveralWaves has more loop steps than one dispatch
// may take. On a device that ends loops silently past its bound, slots would
// be claimed and never run; adds beside the copies show that each slot ran
// exactly once.
func TestLongCopiesFinishOverSeveralWaves(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	const n = 6000
	slots := make([]ring.Slot, n)
	for i := range uint32(n) {
		if i%2 == 0 {
			slots[i] = slot(kernel.OpCopy, i%5, 10_000, 20_000+i, kernel.CopyCap)
		} else {
			slots[i] = slot(kernel.OpAdd, i%5, 1, i)
		}
	}
	submit(t, e, "q", Batch{ID: "b", Slots: slots})
	var executed uint32
	launches := 0
	for e.Pending("q") > 0 {
		r := launch(t, e, Order{Queue: "q", Geometry: policy.Geometry{Width: 32, Groups: 1, Chunk: 128}})
		if r.Executed == 0 || r.Requeued != r.Scheduled-r.Executed || r.Faulted != 0 || r.NotApplied != "" {
			t.Fatalf("report %+v", r)
		}
		launches++
		executed += r.Executed
	}
	if executed != n || launches < 3 {
		t.Errorf("%d slots in %d launches", executed, launches)
	}
	words := make([]uint32, n)
	if err := e.Read("q", 0, words); err != nil {
		t.Fatal(err)
	}
	for i, v := range words {
		if v != uint32(i%2) {
			t.Fatalf("word %d was added to %d times", i, v)
		}
	}
}

// TestWholeBudgetLosesNoClaimedSlot lets every workgroup use its budget up
// with slots of the longest loops: whatever a ticket claimed has run.
func TestWholeBudgetLosesNoClaimedSlot(t *testing.T) {
	r := newRig(t)
	for _, g := range []policy.Geometry{{Width: 8, Groups: 1, Chunk: 8}, {Width: 8, Groups: 1, Chunk: 160}, {Width: 16, Groups: 2, Chunk: 96}, {Width: 64, Groups: 1, Chunk: 64}} {
		for _, steps := range []uint32{0, 1, 200, kernel.CopyCap} {
			p := &testProgram{geometry: g, slots: make([]ring.Slot, testSlots), statuses: make([]ring.Status, testSlots)}
			for i := range p.slots {
				p.slots[i] = slot(kernel.OpCopy, 0, 0, 4096, steps)
				p.statuses[i] = ring.NewStatus(ring.Published)
			}
			for page := range uint32(testPages) {
				p.schedule = append(p.schedule, ring.NewEntry(page, ring.PageSlots))
			}
			p.wave = kernel.Wave{Entries: testPages, Chunk: g.Chunk, StepBudget: steps, WindowLength: testHeapWords,
				ClaimBudget: kernel.ClaimBudget(g, steps, kernel.DefaultLoopBudget)}
			got, err := r.run(p)
			if err != nil {
				t.Fatal(err)
			}
			c := &got.Control
			if want := min(c.Chunks*g.Chunk, testSlots); c.Executed != want || c.Chunks == 0 {
				t.Errorf("%s with %d steps: %d tickets claimed %d slots, %d ran", g, steps, c.Chunks, want, c.Executed)
			}
		}
	}
}

// TestNothingStarvesOnTheDevice keeps every priority busy in waves of half a
// page; the least urgent slot still runs within the ageing threshold.
func TestNothingStarvesOnTheDevice(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.AgeThreshold = 5 })
	submit(t, e, "q", Batch{ID: "idle", Slots: nops(1, ring.PriorityIdle)})
	for wave := range 40 {
		for p := range uint32(ring.PriorityIdle) {
			submit(t, e, "q", Batch{ID: "flood", Slots: nops(128, p)})
		}
		r := launch(t, e, Order{Queue: "q", Geometry: testGeometryAt(128)})
		for _, b := range r.Finished {
			if b.ID == "idle" {
				if wave > 5+ring.Priorities {
					t.Errorf("it ran in wave %d", wave)
				}
				return
			}
		}
	}
	t.Error("the idle slot never ran")
}
