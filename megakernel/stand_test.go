//go:build cgo

package megakernel

import (
	"errors"
	"slices"
	"testing"

	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

const standSlots = 3000 // twelve pages, the last not full

// newStand is a stand with a load of stores, loads and copies, whose outcome
// does not depend on their order.
func newStand(t *testing.T) (*Stand, []ring.Slot, []uint32) {
	t.Helper()
	s, err := NewStand(openDevice(t), StandConfig{Slots: 2 * standSlots, WindowWords: 1 << 14})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	slots := make([]ring.Slot, standSlots)
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

func TestAStandDrainsItsLoadAgainAndAgainAtAnyGeometry(t *testing.T) {
	s, _, window := newStand(t)
	launches := uint32(0)
	for _, g := range []policy.Geometry{{Width: 32, Groups: 1, Chunk: 32}, {Width: 64, Groups: 5, Chunk: 256}, {Width: 256, Groups: 64, Chunk: 64}, {Width: 64, Groups: 2, Chunk: 4096}} {
		for depth, dispatches := range map[uint32]int{0: 1, standSlots: 1, 1500: 2, 256: 12} {
			g.Depth = depth
			if !s.Fits(g) {
				t.Fatalf("%s does not fit", g)
			}
			r, err := s.Launch(g)
			launches++
			if err != nil {
				t.Fatal(err)
			}
			if r.Dispatches != dispatches || r.Ns == 0 || r.Ns > r.WallNs || r.TimeSource == TimeNone {
				t.Errorf("%s: %+v", g, r)
			}
		}
	}
	var after [1]uint32
	err := s.dev.Do(func() error {
		read(s.memory, ring.BindHeap, 1<<13, after[:])
		return s.dev.Check()
	})
	// Every launch adds once for each third slot: none ran twice or not at all.
	if want := window[1<<13] + launches*(standSlots/3); err != nil || after[0] != want {
		t.Errorf("the counter is %d, want %d: %v", after[0], want, err)
	}
}

func TestAStandKnowsWhichGeometriesDrainItsLoadInOneGo(t *testing.T) {
	s, slots, window := newStand(t)
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
	if _, err := s.Launch(g); !errors.Is(err, ErrStand) {
		t.Errorf("beyond the loop budget: %v", err)
	}
	if _, err := s.Launch(halves); err != nil {
		t.Error(err)
	}
}

func TestAStandRefusesLoadsThatALaunchDoesNotFinish(t *testing.T) {
	s, _, window := newStand(t)
	for name, load := range map[string][]ring.Slot{
		"none":     {},
		"too many": make([]ring.Slot, 2*standSlots+1),
		"fence":    {slot(kernel.OpFence, ring.PriorityNormal)},
		"yield":    {slot(kernel.OpYield, ring.PriorityNormal, 2)},
		"await":    {slot(kernel.OpAwait, ring.PriorityNormal, 1, 2, 3)},
		"fault":    {slot(kernel.OpFault, ring.PriorityNormal, 1)},
	} {
		if err := s.Load(load, window); !errors.Is(err, ErrStand) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Load([]ring.Slot{slot(40, ring.PriorityNormal)}, nil); !errors.Is(err, kernel.ErrSlot) {
		t.Errorf("an unknown opcode: %v", err)
	}
	if err := s.Load([]ring.Slot{slot(kernel.OpNop, ring.PriorityNormal), slot(kernel.OpLoad, ring.PriorityNormal, 1<<14)}, window); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Launch(policy.Geometry{Width: 32, Groups: 1, Chunk: 32}); !errors.Is(err, ErrStand) {
		t.Errorf("a slot that faults: %v", err)
	}
}
