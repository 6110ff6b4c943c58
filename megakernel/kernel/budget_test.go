package kernel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

func TestClaimBudgetKeepsTheLoopBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{Width: 1024, Groups: 65535}
		order := policy.Geometry{Width: rapid.Uint32().Draw(t, "width"), Groups: rapid.Uint32().Draw(t, "groups"), Chunk: rapid.Uint32().Draw(t, "chunk")}
		steps := rapid.Uint32Range(0, CopyCap).Draw(t, "steps")
		budget := rapid.Uint32Range(MinLoopBudget, 1<<24).Draw(t, "budget")
		g, reason := Fit(order, limits, steps, budget)
		if (reason == "") != (g == order) {
			t.Fatalf("%s became %s: %q", order, g, reason)
		}
		if again, reason := Fit(g, limits, steps, budget); again != g || reason != "" {
			t.Fatalf("%s is not legal itself: %s, %q", g, again, reason)
		}
		if g.Width < 1 || g.Width > limits.Width || g.Groups < 1 || g.Groups > limits.Groups || g.Chunk < 1 {
			t.Fatalf("%s is beyond the limits", g)
		}
		if uint64(g.Groups)*uint64(g.Chunk) > maxOverclaim {
			t.Fatalf("%s: tickets can wrap", g)
		}
		claims := uint64(ClaimBudget(g, steps, budget))
		rows := uint64(g.Chunk+g.Width-1) / uint64(g.Width)
		if claims < 1 || claims*(1+rows*uint64(RowIterations+steps)) > uint64(budget) {
			t.Fatalf("%s with %d steps: %d claims of %d rows exceed %d", g, steps, claims, rows, budget)
		}
		if reach := uint64(g.Groups) * claims * uint64(g.Chunk); reach < ring.PageSlots {
			t.Fatalf("%s with %d steps reaches %d slots: a page that is done so far is never left", g, steps, reach)
		}
	})
}

func TestLegalGeometryIsKept(t *testing.T) {
	for _, g := range []policy.Geometry{
		{Width: 1, Groups: 1, Chunk: 1}, {Width: 51, Groups: 51, Chunk: 51}, {Width: 1024, Groups: 65535, Chunk: 1024}, {Width: 256, Groups: 64, Chunk: 65536},
	} {
		if got, reason := Fit(g, Limits{Width: 1024, Groups: 65535}, 1, DefaultLoopBudget); got != g || reason != "" {
			t.Errorf("%s became %s: %s", g, got, reason)
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
		if got := BuiltIn().Steps(&c.slot); got != c.want {
			t.Errorf("%s %v: %d steps, want %d", Opcode(c.slot.Opcode), c.slot.Args[:3], got, c.want)
		}
		// With exactly that budget no slot stays published, with less it does.
		image := &Image{Slots: []ring.Slot{c.slot}, Results: make([]uint32, 1), Heap: make([]uint32, 2*CopyCap),
			Statuses: []ring.Status{ring.NewStatus(ring.Published)}, Schedule: []ring.Entry{ring.NewEntry(0, 1)}}
		w := Wave{Entries: 1, Chunk: 256, ClaimBudget: 1, StepBudget: c.want, WindowLength: 2 * CopyCap}
		if c.want > 0 {
			short := w
			short.StepBudget--
			BuiltIn().Interpret(image, Kernel{}, short, policy.Geometry{Width: 1, Groups: 1, Chunk: 256})
			if image.Control.Unreached != 1 || image.Statuses[0] != ring.NewStatus(ring.Published) {
				t.Errorf("%s ran with %d steps", Opcode(c.slot.Opcode), short.StepBudget)
			}
			image.Control = ring.Control{}
		}
		BuiltIn().Interpret(image, Kernel{}, w, policy.Geometry{Width: 1, Groups: 1, Chunk: 256})
		if image.Statuses[0].State() == ring.Published {
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
		{"unknown", slot(15, 0), ring.NewStatus(0).WithFault(ring.FaultUnknownOpcode), 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			image := &Image{Slots: []ring.Slot{c.slot}, Results: []uint32{77}, Heap: slices.Clone(heap),
				Statuses: []ring.Status{ring.NewStatus(ring.Published)}, Schedule: []ring.Entry{ring.NewEntry(0, 1)}}
			BuiltIn().Interpret(image, Kernel{}, Wave{Entries: 1, Chunk: 64, ClaimBudget: 9, StepBudget: 9, WindowBase: base, WindowLength: length}, policy.Geometry{Width: 64, Groups: 1, Chunk: 64})
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
