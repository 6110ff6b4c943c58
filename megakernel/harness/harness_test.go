//go:build cgo

package harness

import (
	"errors"
	"slices"
	"testing"

	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/memory"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

const loadSlots = 3000 // twelve pages, the last not full

// slot is a slot of an opcode.
func slot(op kernel.Opcode, priority uint32, args ...uint32) ring.Slot {
	s := ring.Slot{Opcode: uint32(op), Priority: priority}
	copy(s.Args[:], args)
	return s
}

// open is a harness with a load of stores, loads and copies, whose outcome
// does not depend on their order.
func open(t *testing.T) (*Harness, []ring.Slot, []uint32) {
	t.Helper()
	s, err := New(gltest.Open(t), Config{Slots: 2 * loadSlots, WindowWords: 1 << 14})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	slots := make([]ring.Slot, loadSlots)
	window := make([]uint32, 1<<14)
	for i := range slots {
		switch at := uint32(i); i % 3 {
		case 0:
			slots[i] = slot(kernel.OpStore, ring.PriorityNormal, at*7, at)
		case 1:
			slots[i] = slot(kernel.OpAdd, ring.PriorityNormal, 1, 1<<13)
		case 2:
			slots[i] = slot(kernel.OpCopy, ring.PriorityNormal, 1<<12, 5000, at%9)
		}
	}
	for i := range window {
		window[i] = uint32(i) * 3
	}
	if err := s.Load(slots, window); err != nil {
		t.Fatal(err)
	}
	return s, slots, window
}

func TestAHarnessDrainsItsLoadAgainAndAgainAtAnyGeometry(t *testing.T) {
	s, _, window := open(t)
	launches := uint32(0)
	for _, g := range []policy.Geometry{{Width: 32, Groups: 1, Chunk: 32}, {Width: 64, Groups: 5, Chunk: 256}, {Width: 256, Groups: 64, Chunk: 64}, {Width: 64, Groups: 2, Chunk: 4096}} {
		for depth, dispatches := range map[uint32]int{0: 1, loadSlots: 1, 1500: 2, 256: 12} {
			g.Depth = depth
			if !s.Fits(g) {
				t.Fatalf("%s does not fit", g)
			}
			r, err := s.Launch(g)
			launches++
			if err != nil {
				t.Fatal(err)
			}
			if r.Dispatches != dispatches || r.Ns == 0 || r.Ns > r.WallNs || r.TimeSource == gpu.TimeNone {
				t.Errorf("%s: %+v", g, r)
			}
		}
	}
	var after [1]uint32
	err := s.dev.Do(func() error {
		memory.Read(s.memory, ring.BindHeap, 1<<13, after[:])
		return s.dev.Check()
	})
	// Every launch adds once for each third slot: none ran twice or not at all.
	if want := window[1<<13] + launches*(loadSlots/3); err != nil || after[0] != want {
		t.Errorf("the counter is %d, want %d: %v", after[0], want, err)
	}
}

func TestAHarnessKnowsWhichGeometriesDrainItsLoadInOneGo(t *testing.T) {
	s, slots, window := open(t)
	width, _, _ := s.dev.WorkgroupLimits()
	for _, c := range []struct {
		g    policy.Geometry
		want bool
	}{
		{policy.Geometry{Width: 64, Groups: 8, Chunk: 256}, true},
		{policy.Geometry{Width: 0, Groups: 8, Chunk: 256}, false},
		{policy.Geometry{Width: width * 2, Groups: 8, Chunk: 256}, false},
		{policy.Geometry{Width: 64, Groups: 0, Chunk: 256}, false},
		{policy.Geometry{Width: 64, Groups: 8, Chunk: 1 << 30}, false},
	} {
		if s.Fits(c.g) != c.want {
			t.Errorf("%s: fits is %v", c.g, !c.want)
		}
	}
	long := slices.Clone(slots)
	long[7] = slot(kernel.OpCopy, ring.PriorityNormal, 0, 4096, kernel.CopyCap)
	if err := s.Load(long, window); err != nil {
		t.Fatal(err)
	}
	g := policy.Geometry{Width: 32, Groups: 1, Chunk: 32}
	halves := g
	halves.Depth = 1500
	if s.Fits(g) || !s.Fits(halves) {
		t.Errorf("fits as a whole: %v, in halves: %v", s.Fits(g), s.Fits(halves))
	}
	if _, err := s.Launch(g); !errors.Is(err, ErrLoad) {
		t.Errorf("beyond the loop budget: %v", err)
	}
	if _, err := s.Launch(halves); err != nil {
		t.Error(err)
	}
}

func TestAHarnessRefusesLoadsThatALaunchDoesNotFinish(t *testing.T) {
	s, _, window := open(t)
	for name, load := range map[string][]ring.Slot{
		"none":     {},
		"too many": make([]ring.Slot, 2*loadSlots+1),
		"fence":    {slot(kernel.OpFence, ring.PriorityNormal)},
		"yield":    {slot(kernel.OpYield, ring.PriorityNormal, 2)},
		"await":    {slot(kernel.OpAwait, ring.PriorityNormal, 1, 2, 3)},
		"fault":    {slot(kernel.OpFault, ring.PriorityNormal, 1)},
	} {
		if err := s.Load(load, window); !errors.Is(err, ErrLoad) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Load([]ring.Slot{slot(40, ring.PriorityNormal)}, nil); !errors.Is(err, kernel.ErrSlot) {
		t.Errorf("an unknown opcode: %v", err)
	}
	if err := s.Load([]ring.Slot{slot(kernel.OpNop, ring.PriorityNormal), slot(kernel.OpLoad, ring.PriorityNormal, 1<<14)}, window); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Launch(policy.Geometry{Width: 32, Groups: 1, Chunk: 32}); !errors.Is(err, ErrLoad) {
		t.Errorf("a slot that faults: %v", err)
	}
}
