//go:build cgo

package megakernel

import (
	"slices"
	"testing"

	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

func TestPrintsReachTheHostWithTheirQueue(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	if prints, lost, err := e.Prints(); len(prints) != 0 || lost != 0 || err != nil {
		t.Errorf("%v, %d, %v before anything ran", prints, lost, err)
	}
	for _, queue := range []string{"a", "b"} {
		submit(t, e, queue, Batch{ID: queue, Slots: []ring.Slot{slot(kernel.OpNop, 0), slot(kernel.OpPrint, 0, 1, 2, 3, 4)}})
		launch(t, e, Order{Queue: queue, Geometry: testGeometry})
	}
	prints, lost, err := e.Prints()
	if err != nil || lost != 0 || len(prints) != 2 {
		t.Fatalf("%+v, %d overwritten, %v", prints, lost, err)
	}
	for i, queue := range []string{"a", "b"} {
		if p := prints[i]; p.Queue != queue || p.Sequence != 1 || p.Args != [ring.PrintArgs]uint32{1, 2, 3, 4} {
			t.Errorf("%+v", p)
		}
	}
	submit(t, e, "a", Batch{ID: "many", Slots: slices.Repeat([]ring.Slot{slot(kernel.OpPrint, 2, 7)}, PrintRecords+100)})
	launch(t, e, Order{Queue: "a", Geometry: testGeometry})
	prints, lost, err = e.Prints()
	if err != nil || len(prints)+int(lost) != PrintRecords+100 || lost < 100 || len(prints) == 0 {
		t.Errorf("%d prints, %d overwritten, %v", len(prints), lost, err)
	}
}

func TestSlotThatYieldsGoesRoundAgain(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	submit(t, e, "q", Batch{ID: "b", WantResults: true, Slots: []ring.Slot{slot(kernel.OpYield, 0, 3), slot(kernel.OpYield, 4, 1), slot(kernel.OpYield, 1, 0)}})
	for round, want := range []struct{ executed, pending int }{{1, 2}, {1, 1}, {0, 1}, {1, 0}} {
		r := launch(t, e, Order{Queue: "q", Geometry: testGeometry})
		if int(r.Executed) != want.executed || r.Pending != want.pending || r.Faulted != 0 {
			t.Errorf("round %d: %+v", round, r)
		}
	}
}

func TestSlotAwaitsAWordOrGivesUp(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	submit(t, e, "q", Batch{ID: "waits", WantResults: true, Slots: []ring.Slot{slot(kernel.OpAwait, 0, 5, 77, 200), slot(kernel.OpAwait, 0, 6, 1, 3)}})
	for range 2 {
		if r := launch(t, e, Order{Queue: "q", Geometry: testGeometry}); r.Pending != 2 || r.Requeued != 2 {
			t.Fatalf("%+v", r)
		}
	}
	submit(t, e, "q", Batch{ID: "stores", Slots: []ring.Slot{slot(kernel.OpStore, 4, 77, 5)}})
	finished, _ := drainQueue(t, e, Order{Queue: "q", Geometry: testGeometry})
	for _, b := range finished {
		if b.ID != "waits" {
			continue
		}
		if b.Executed != 1 || b.Results[0] != 77 || len(b.Faults) != 1 || b.Faults[0] != (SlotFault{Index: 1, Code: ring.FaultGaveUp}) {
			t.Errorf("%+v", b)
		}
		return
	}
	t.Errorf("finished %+v", finished)
}
