package megakernel

import (
	"testing"

	"ringmaster/ring"
)

func slot(op Opcode, priority uint32, args ...uint32) ring.Slot {
	s := ring.Slot{Opcode: uint32(op), Priority: priority}
	copy(s.Args[:], args)
	return s
}

func TestLaunchRunsABatchAtTheOrderedGeometry(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	batch := Batch{ID: "b", WantResults: true, Slots: []ring.Slot{
		slot(OpStore, 2, 7, 3),
		slot(OpAdd, 0, 5, 10),
		slot(OpAdd, 4, 6, 10),
		slot(OpFence, 1),
		slot(OpLoad, 2, 3),
		slot(OpLoad, 2, 10),
	}}
	if err := e.Submit("q", batch); err != nil {
		t.Fatal(err)
	}
	r, err := e.Launch(Order{Launch: 1, Queue: "q", Geometry: Geometry{64, 2, 128}})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	r, err = e.Launch(Order{Launch: 2, Queue: "q", Geometry: Geometry{64, 2, 128}})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
}
