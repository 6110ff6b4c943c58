package megakernel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

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
			slots[i] = slot(OpCopy, i%5, 10_000, 20_000+i, CopyCap)
		} else {
			slots[i] = slot(OpAdd, i%5, 1, i)
		}
	}
	submit(t, e, "q", Batch{ID: "b", Slots: slots})
	var executed, oldest uint32
	launches := 0
	for e.Pending("q") > 0 {
		r := launch(t, e, Order{Queue: "q", Geometry: Geometry{32, 1, 128}})
		if r.Executed == 0 || r.Requeued != r.Scheduled-r.Executed || r.Faulted != 0 || r.NotApplied != "" {
			t.Fatalf("report %+v", r)
		}
		launches++
		executed += r.Executed
		oldest = max(oldest, r.OldestAge)
	}
	if executed != n || launches < 3 {
		t.Errorf("%d slots in %d launches", executed, launches)
	}
	if oldest != uint32(launches-1) {
		t.Errorf("the oldest slot was in %d launches before the last of %d", oldest, launches)
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
	for _, g := range []Geometry{{8, 1, 8}, {8, 1, 160}, {16, 2, 96}, {64, 1, 64}} {
		for _, steps := range []uint32{0, 1, 200, CopyCap} {
			p := &testProgram{geometry: g, slots: make([]ring.Slot, testSlots), statuses: make([]ring.Status, testSlots)}
			for i := range p.slots {
				p.slots[i] = slot(OpCopy, 0, 0, 4096, steps)
				p.statuses[i] = ring.NewStatus(ring.Published)
			}
			for page := range uint32(testPages) {
				p.schedule = append(p.schedule, ring.NewEntry(page, ring.PageSlots))
			}
			p.wave = Wave{Entries: testPages, Chunk: g.Chunk, StepBudget: steps, WindowLength: testHeapWords,
				ClaimBudget: claimBudget(g, steps, DefaultLoopBudget)}
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

func TestClaimBudgetKeepsTheLoopBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := deviceLimits{width: 1024, groups: 65535}
		order := Geometry{rapid.Uint32().Draw(t, "width"), rapid.Uint32().Draw(t, "groups"), rapid.Uint32().Draw(t, "chunk")}
		steps := rapid.Uint32Range(0, CopyCap).Draw(t, "steps")
		budget := rapid.Uint32Range(minLoopBudget, 1<<24).Draw(t, "budget")
		g, reason := legal(order, limits, steps, budget)
		if (reason == "") != (g == order) {
			t.Fatalf("%s became %s: %q", order, g, reason)
		}
		if again, reason := legal(g, limits, steps, budget); again != g || reason != "" {
			t.Fatalf("%s is not legal itself: %s, %q", g, again, reason)
		}
		if g.Width < 1 || g.Width > limits.width || g.Groups < 1 || g.Groups > limits.groups || g.Chunk < 1 {
			t.Fatalf("%s is beyond the limits", g)
		}
		if uint64(g.Groups)*uint64(g.Chunk) > maxOverclaim {
			t.Fatalf("%s: tickets can wrap", g)
		}
		claims := uint64(claimBudget(g, steps, budget))
		rows := uint64(g.Chunk+g.Width-1) / uint64(g.Width)
		if claims < 1 || claims*(1+rows*uint64(rowIterations+steps)) > uint64(budget) {
			t.Fatalf("%s with %d steps: %d claims of %d rows exceed %d", g, steps, claims, rows, budget)
		}
	})
}

func TestLegalGeometryIsKept(t *testing.T) {
	for _, g := range []Geometry{{1, 1, 1}, {51, 51, 51}, {1024, 65535, 1024}, {256, 64, 65536}} {
		if got, reason := legal(g, deviceLimits{width: 1024, groups: 65535}, 1, DefaultLoopBudget); got != g || reason != "" {
			t.Errorf("%s became %s: %s", g, got, reason)
		}
	}
}

func TestElapsedBelievesPlausibleReadingsOnly(t *testing.T) {
	for _, c := range []struct {
		device, finish, want uint64
		source               TimeSource
	}{
		{0, 50_000, 50_000, TimeFinish},      // llvmpipe
		{1, 50_000, 50_000, TimeFinish},      // llvmpipe
		{1000, 50_000, 50_000, TimeFinish},   // no dispatch is that short
		{1001, 50_000, 1001, TimeDevice},     //
		{50_000, 50_000, 50_000, TimeDevice}, //
		{50_001, 50_000, 50_000, TimeFinish}, // longer than the host waited
		{^uint64(0), 50_000, 50_000, TimeFinish},
	} {
		if got, source := elapsed(c.device, c.finish); got != c.want || source != c.source {
			t.Errorf("device %d, finish %d: %d by %s", c.device, c.finish, got, source)
		}
	}
}

func TestStepsBoundWhatTheReferenceDoes(t *testing.T) {
	for _, c := range []struct {
		slot ring.Slot
		want uint32
	}{
		{slot(OpNop, 0, 0, 0, 9), 0}, {slot(OpStore, 0), 1}, {slot(OpAdd, 0), 1}, {slot(OpLoad, 0), 1},
		{slot(OpCopy, 0, 0, 0, 9), 9}, {slot(OpCopy, 0, 0, 0, CopyCap), CopyCap}, {slot(OpCopy, 0, 0, 0, CopyCap+1), 0},
		{slot(99, 0, 0, 0, 9), 0},
	} {
		if got := stepsOf(&c.slot); got != c.want {
			t.Errorf("%s %v: %d steps, want %d", Opcode(c.slot.Opcode), c.slot.Args[:3], got, c.want)
		}
		// With exactly that budget no slot stays published, with less it does.
		image := &Image{Slots: []ring.Slot{c.slot}, Results: make([]uint32, 1), Heap: make([]uint32, 2*CopyCap),
			Statuses: []ring.Status{ring.NewStatus(ring.Published)}, Schedule: []ring.Entry{ring.NewEntry(0, 1)}}
		w := Wave{Entries: 1, Chunk: 256, ClaimBudget: 1, StepBudget: c.want, WindowLength: 2 * CopyCap}
		if c.want > 0 {
			short := w
			short.StepBudget--
			Interpret(image, short, Geometry{1, 1, 256})
			if image.Control.Unreached != 1 || image.Statuses[0] != ring.NewStatus(ring.Published) {
				t.Errorf("%s ran with %d steps", Opcode(c.slot.Opcode), short.StepBudget)
			}
			image.Control = ring.Control{}
		}
		Interpret(image, w, Geometry{1, 1, 256})
		if !image.Statuses[0].State().Terminal() {
			t.Errorf("%s did not run with %d steps", Opcode(c.slot.Opcode), c.want)
		}
	}
}

func TestReferenceMeaningOfEachOpcode(t *testing.T) {
	const base, length = 2, 8
	heap := []uint32{90, 91, 10, 11, 12, 13, 14, 15, 16, 17, 92, 93}
	for _, c := range []struct {
		name   string
		slot   ring.Slot
		status ring.Status
		result uint32
		change map[int]uint32
	}{
		{"nop", slot(OpNop, 0, 1, 2, 3), ring.NewStatus(ring.Done), 0, nil},
		{"store", slot(OpStore, 0, 5, 7), ring.NewStatus(ring.Done), 0, map[int]uint32{9: 5}},
		{"add wraps", slot(OpAdd, 0, ^uint32(0), 0), ring.NewStatus(ring.Done), 0, map[int]uint32{2: 9}},
		{"load", slot(OpLoad, 0, 3), ring.NewStatus(ring.Done), 13, nil},
		{"copy", slot(OpCopy, 0, 0, 5, 3), ring.NewStatus(ring.Done), 0, map[int]uint32{7: 10, 8: 11, 9: 12}},
		{"copy upwards over itself repeats", slot(OpCopy, 0, 0, 1, 3), ring.NewStatus(ring.Done), 0, map[int]uint32{3: 10, 4: 10, 5: 10}},
		{"copy of nothing from outside", slot(OpCopy, 0, 99, 99, 0), ring.NewStatus(ring.Done), 0, nil},
		{"copy past the end", slot(OpCopy, 0, 0, 6, 3), ring.NewStatus(0).WithFault(ring.FaultOutOfWindow), 0, nil},
		{"fault", slot(OpFault, 0, 3), ring.NewStatus(0).WithFault(ring.FaultUser + 3), 0, nil},
		{"fence", slot(OpFence, 0), ring.NewStatus(ring.Done), 0, nil},
		{"unknown", slot(4, 0), ring.NewStatus(0).WithFault(ring.FaultUnknownOpcode), 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			image := &Image{Slots: []ring.Slot{c.slot}, Results: []uint32{77}, Heap: slices.Clone(heap),
				Statuses: []ring.Status{ring.NewStatus(ring.Published)}, Schedule: []ring.Entry{ring.NewEntry(0, 1)}}
			Interpret(image, Wave{Entries: 1, Chunk: 64, ClaimBudget: 9, StepBudget: 9, WindowBase: base, WindowLength: length}, Geometry{64, 1, 64})
			want := slices.Clone(heap)
			for i, v := range c.change {
				want[i] = v
			}
			if !slices.Equal(image.Heap, want) || image.Statuses[0] != c.status.Attempted() || image.Results[0] != c.result {
				t.Errorf("heap %v, status %s, result %d", image.Heap, image.Statuses[0], image.Results[0])
			}
		})
	}
}
