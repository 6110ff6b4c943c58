//go:build cgo

package megakernel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

var testGeometry = policy.Geometry{Width: 64, Groups: 4, Chunk: 256}

// testGeometryAt is testGeometry with a bound of the launch's slots.
func testGeometryAt(depth uint32) policy.Geometry {
	g := testGeometry
	g.Depth = depth
	return g
}

func submit(t *testing.T, e *Engine, queue string, b Batch) {
	t.Helper()
	if err := e.Submit(queue, b); err != nil {
		t.Fatal(err)
	}
}

func launch(t *testing.T, e *Engine, o Order) Report {
	t.Helper()
	r, err := e.Launch(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// drain launches until nothing is pending and returns what finished and the
// number of launches.
func drainQueue(t *testing.T, e *Engine, o Order) (finished []BatchResult, launches int) {
	t.Helper()
	for {
		r := launch(t, e, o)
		launches++
		finished = append(finished, r.Finished...)
		if r.Pending == 0 {
			return finished, launches
		}
		if r.Executed+r.Faulted == 0 {
			t.Fatalf("launch %d made no progress: %+v", launches, r)
		}
	}
}

func TestFenceOrdersWhatStandsAroundIt(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	var slots []ring.Slot
	const links = 20
	for i := range uint32(links) {
		slots = append(slots, slot(kernel.OpAdd, i%5, 1, i), slot(kernel.OpFence, 0), slot(kernel.OpCopy, (i+3)%5, i, i+1, 1), slot(kernel.OpFence, 4))
	}
	slots = append(slots, slot(kernel.OpLoad, 0, links))
	submit(t, e, "q", Batch{ID: "chain", Tag: 7, Slots: slots, WantResults: true})
	finished, launches := drainQueue(t, e, Order{Queue: "q", Geometry: testGeometry})
	if len(finished) != 1 {
		t.Fatalf("finished %+v", finished)
	}
	b := finished[0]
	if b.ID != "chain" || b.Tag != 7 || b.Executed != uint32(len(slots)) || b.Faulted != 0 || b.Results[len(slots)-1] != links {
		t.Errorf("batch %+v", b)
	}
	if launches != 2*links+1 {
		t.Errorf("%d launches for %d fences", launches, 2*links)
	}
}

func TestFenceAtTheEndNeedsNoLaunchOfItsOwn(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	submit(t, e, "q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpNop, 0), slot(kernel.OpFence, 4)}})
	r := launch(t, e, Order{Queue: "q", Geometry: testGeometry})
	if len(r.Finished) != 1 || r.Opcodes[kernel.OpNop] != 1 || r.Opcodes[kernel.OpFence] != 1 || r.Pending != 0 {
		t.Errorf("report %+v", r)
	}
}

func TestDeviceRunsExactlyTheOrderedGeometry(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	for _, g := range []policy.Geometry{{Width: 1, Groups: 1, Chunk: 1}, {Width: 32, Groups: 7, Chunk: 32}, {Width: 51, Groups: 51, Chunk: 51}, {Width: 64, Groups: 4, Chunk: 256}, {Width: 256, Groups: 64, Chunk: 1000}, {Width: 1024, Groups: 3, Chunk: 4096}} {
		submit(t, e, "q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpAdd, 0, 1, 0)}})
		r := launch(t, e, Order{Launch: 3, Decision: 4, Queue: "q", Geometry: g})
		if r.Applied != g || r.Recommended != g || r.NotApplied != "" {
			t.Errorf("ordered %s, applied %s: %q", g, r.Applied, r.NotApplied)
		}
		if r.Launch != 3 || r.Decision != 4 || r.Queue != "q" || r.Executed != 1 || r.Fingerprint != kernel.Fingerprint(kernel.BuiltIn().Source(kernel.Kernel{Kind: kernel.Interpreter, Width: g.Width})) {
			t.Errorf("report %+v", r)
		}
		if r.ElapsedNs == 0 || r.ElapsedNs > r.WallNs || r.TimeSource == gpu.TimeNone {
			t.Errorf("elapsed %d ns of %d by %s", r.ElapsedNs, r.WallNs, r.TimeSource)
		}
	}
}

func TestGeometryBeyondTheDeviceRunsAsTheNearestAndSaysWhy(t *testing.T) {
	dev := openDevice(t)
	e := newEngine(t, dev, nil)
	order := policy.Geometry{Width: 1 << 20, Groups: 2, Chunk: 0}
	submit(t, e, "q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpNop, 0)}})
	r := launch(t, e, Order{Queue: "q", Geometry: order})
	want := policy.Geometry{Width: e.exec.limits.Width, Groups: 2, Chunk: 1}
	if r.Applied != want || r.Recommended != order || !strings.Contains(r.NotApplied, "width 1048576") || !strings.Contains(r.NotApplied, "chunk 0") {
		t.Errorf("applied %s, want %s: %q", r.Applied, want, r.NotApplied)
	}
	if r.Executed != 1 {
		t.Errorf("executed %d", r.Executed)
	}
}

func TestLaunchWithoutWorkDispatchesNothing(t *testing.T) {
	dev := &faultyDevice{Device: openDevice(t)}
	e := newEngine(t, dev, nil)
	if _, err := e.Launch(Order{Queue: "never seen"}); !errors.Is(err, ErrQueue) {
		t.Errorf("error %v", err)
	}
	if err := e.Write("q", 0, []uint32{1}); err != nil {
		t.Fatal(err)
	}
	r := launch(t, e, Order{Queue: "q", Geometry: testGeometry})
	if r.NotApplied == "" || r.Applied != (policy.Geometry{}) || r.TimeSource != gpu.TimeNone || dev.dispatches != 0 {
		t.Errorf("report %+v, %d dispatches", r, dev.dispatches)
	}
}

func TestFaultsHaveCodesAndWriteNothing(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.MaxQueues, c.WindowWords, c.HeapWords = 3, 256, 1024 })
	guard := make([]uint32, 256)
	for i := range guard {
		guard[i] = 0xC0DE0000 + uint32(i)
	}
	// The queue under test has the window in the middle.
	for _, q := range []string{"below", "q", "above"} {
		if err := e.Write(q, 0, guard); err != nil {
			t.Fatal(err)
		}
	}
	cases := []struct {
		slot ring.Slot
		code ring.FaultCode
	}{
		{slot(kernel.OpStore, 0, 1, 256), ring.FaultOutOfWindow},
		{slot(kernel.OpStore, 1, 1, ^uint32(0)), ring.FaultOutOfWindow},
		{slot(kernel.OpAdd, 2, 1, 256), ring.FaultOutOfWindow},
		{slot(kernel.OpLoad, 3, 256), ring.FaultOutOfWindow},
		{slot(kernel.OpCopy, 4, 0, 255, 2), ring.FaultOutOfWindow},
		{slot(kernel.OpCopy, 0, 255, 0, 2), ring.FaultOutOfWindow},
		{slot(kernel.OpCopy, 0, 0, ^uint32(0), 2), ring.FaultOutOfWindow},
		{slot(kernel.OpCopy, 0, 0, 0, kernel.CopyCap+1), ring.FaultCopyTooLong},
		{slot(kernel.OpCopy, 0, 0, 1, ^uint32(0)), ring.FaultCopyTooLong},
		{slot(12, 0, 0, 1, 2), ring.FaultUnknownOpcode},
		{slot(99, 0, 0, 1, 2), ring.FaultUnknownOpcode},
		{slot(^kernel.Opcode(0), 0, 0, 1, 2), ring.FaultUnknownOpcode},
		{slot(kernel.OpFault, 0, 0), ring.FaultUser},
		{slot(kernel.OpFault, 0, ring.UserFaults-1), ring.FaultUser + ring.FaultCode(ring.UserFaults) - 1},
		{slot(kernel.OpFault, 0, ring.UserFaults), ring.FaultBadCode},
	}
	b := Batch{ID: "b", WantResults: true}
	for _, c := range cases {
		b.Slots = append(b.Slots, c.slot)
	}
	submit(t, e, "q", b)
	r := launch(t, e, Order{Queue: "q", Geometry: testGeometry})
	if r.Faulted != uint32(len(cases)) || r.Executed != 0 || len(r.Finished) != 1 {
		t.Fatalf("report %+v", r)
	}
	if r.Opcodes != [ring.OpcodeBins]uint32{} {
		t.Errorf("faulted slots were counted as executed: %v", r.Opcodes)
	}
	faults := r.Finished[0].Faults
	slices.SortFunc(faults, func(a, b SlotFault) int { return int(a.Index) - int(b.Index) })
	for i, c := range cases {
		if faults[i] != (SlotFault{Index: uint32(i), Code: c.code}) {
			t.Errorf("%s %v: %s, want %s", kernel.Opcode(c.slot.Opcode), c.slot.Args[:3], faults[i].Code, c.code)
		}
	}
	for _, q := range []string{"below", "q", "above"} {
		got := make([]uint32, 256)
		if err := e.Read(q, 0, got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, guard) {
			t.Errorf("window %q changed", q)
		}
	}
}

func TestTransfersStayInTheWindow(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.MaxQueues, c.WindowWords = 2, 16 })
	if err := e.Read("q", 0, make([]uint32, 1)); !errors.Is(err, ErrQueue) {
		t.Errorf("read of an unknown queue: %v", err)
	}
	for _, c := range []struct {
		offset uint32
		words  int
	}{{0, 17}, {16, 1}, {^uint32(0), 2}} {
		if err := e.Write("q", c.offset, make([]uint32, c.words)); !errors.Is(err, ErrWindow) {
			t.Errorf("write of %d words at %d: %v", c.words, c.offset, err)
		}
		if err := e.Read("q", c.offset, make([]uint32, c.words)); !errors.Is(err, ErrWindow) {
			t.Errorf("read of %d words at %d: %v", c.words, c.offset, err)
		}
	}
	if err := e.Write("q", 14, []uint32{5, 6}); err != nil {
		t.Error(err)
	}
	got := make([]uint32, 3)
	if err := e.Read("q", 13, got); err != nil || !slices.Equal(got, []uint32{0, 5, 6}) {
		t.Errorf("read %v, error %v", got, err)
	}
}

func TestRacingAddsAllCount(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	const n, words = 20_000, 7
	slots := make([]ring.Slot, n)
	var want [words]uint32
	for i := range slots {
		w := uint32(i*i) % words
		slots[i] = slot(kernel.OpAdd, uint32(i%5), uint32(i), w)
		want[w] += uint32(i)
	}
	submit(t, e, "q", Batch{ID: "b", Slots: slots})
	drainQueue(t, e, Order{Queue: "q", Geometry: policy.Geometry{Width: 256, Groups: 16, Chunk: 512}})
	got := make([]uint32, words)
	if err := e.Read("q", 0, got); err != nil || !slices.Equal(got, want[:]) {
		t.Errorf("sums %v, want %v, error %v", got, want, err)
	}
}

func TestQueuesShareADeviceAndNothingElse(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	for i := range uint32(5) {
		q := fmt.Sprint("q", i)
		var slots []ring.Slot
		for a := range uint32(1000) {
			slots = append(slots, slot(kernel.OpStore, a%5, 1000*i+a, a))
		}
		submit(t, e, q, Batch{ID: q, Slots: slots})
	}
	for i := range uint32(5) {
		r := launch(t, e, Order{Queue: fmt.Sprint("q", i), Geometry: testGeometry})
		if r.Executed != 1000 || len(r.Finished) != 1 || r.Finished[0].ID != r.Queue {
			t.Errorf("report %+v", r)
		}
		if i < 4 && e.Pending("q4") != 1000 {
			t.Errorf("a launch of %s ran slots of q4", r.Queue)
		}
	}
	for i := range uint32(5) {
		got := make([]uint32, 1000)
		if err := e.Read(fmt.Sprint("q", i), 0, got); err != nil {
			t.Fatal(err)
		}
		for a, v := range got {
			if v != 1000*i+uint32(a) {
				t.Fatalf("q%d word %d is %d", i, a, v)
			}
		}
	}
}

// A launch that reaches less than a page would look at the same slots, done already, for ever: with the loop
// budget that the longest copies need, two groups of 32 reach 64 of the 256 slots of a page.
func TestSmallLaunchesGetThroughAPage(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.LoopBudget = kernel.MinLoopBudget })
	var slots []ring.Slot
	for i := range uint32(2*ring.PageSlots + 9) {
		slots = append(slots, slot(kernel.OpCopy, 2, i, 4096+i, kernel.CopyCap))
	}
	submit(t, e, "q", Batch{ID: "b", Slots: slots})
	for i := range uint64(5) {
		r := launch(t, e, Order{Launch: i + 1, Queue: "q", Geometry: policy.Geometry{Width: 32, Groups: 2, Chunk: 32}})
		if r.Executed == 0 || r.Applied.Groups != 2 && r.NotApplied == "" {
			t.Fatalf("launch %d: %+v", i+1, r)
		}
		if r.Pending == 0 {
			return
		}
	}
	t.Fatalf("%d of %d slots are left", e.Pending("q"), len(slots))
}

func TestBatchDepthBoundsALaunch(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	submit(t, e, "q", Batch{ID: "b", Slots: slices.Repeat([]ring.Slot{slot(kernel.OpAdd, 2, 1, 0)}, 1000)})
	for _, want := range []uint32{300, 300, 300, 100} {
		r := launch(t, e, Order{Queue: "q", Geometry: testGeometryAt(300)})
		if r.Scheduled != want || r.Executed != want {
			t.Errorf("scheduled %d, executed %d, want %d", r.Scheduled, r.Executed, want)
		}
	}
	if e.Pending("q") != 0 || e.Stats().FreePages != e.cfg.Pages {
		t.Errorf("%d pending, %d pages free of %d", e.Pending("q"), e.Stats().FreePages, e.cfg.Pages)
	}
}

func TestUrgentSlotsRunBeforeAnOlderBacklog(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	submit(t, e, "q", Batch{ID: "backlog", Slots: slices.Repeat([]ring.Slot{slot(kernel.OpNop, ring.PriorityIdle)}, 20_000)})
	launch(t, e, Order{Queue: "q", Geometry: testGeometryAt(1000)})
	submit(t, e, "q", Batch{ID: "urgent", Slots: slices.Repeat([]ring.Slot{slot(kernel.OpNop, ring.PriorityCritical)}, 500)})
	r := launch(t, e, Order{Queue: "q", Geometry: testGeometryAt(1000)})
	if len(r.Finished) != 1 || r.Finished[0].ID != "urgent" || r.Executed != 1000 {
		t.Errorf("finished %+v, executed %d", r.Finished, r.Executed)
	}
}
