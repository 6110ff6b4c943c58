package worker

import (
	"slices"
	"testing"

	"ringmaster/megakernel"
	"ringmaster/ring"
)

func TestPrintsWaitForTheEndOfTheirBatch(t *testing.T) {
	print := func(queue string, sequence uint32) megakernel.Print {
		return megakernel.Print{Queue: queue, PrintRecord: ring.PrintRecord{Sequence: sequence, Args: [4]uint32{sequence}}}
	}
	e := &Engine{}
	wrapped := ^uint32(0) - 1 // the batch's third slot has sequence 0
	e.prints.add([]megakernel.Print{print("q", 0), print("q", wrapped), print("other", wrapped), print("q", 1)})
	d := e.doneRecord("q", &megakernel.BatchResult{ID: "b", Sequence: wrapped, Executed: 2, Dropped: 1})
	if want := []uint32{0, wrapped, 0, 0, 0, 2, 0, 0, 0, 0}; d.Printed != 2 || !slices.Equal(d.Prints, want) {
		t.Errorf("%d printed, %v, want %v", d.Printed, d.Prints, want)
	}
	if again := e.doneRecord("q", &megakernel.BatchResult{ID: "b", Sequence: wrapped, Executed: 3}); again.Printed != 0 {
		t.Errorf("prints %v were told of twice", again.Prints)
	}
	for i := range uint32(maxShelf) {
		e.prints.add([]megakernel.Print{print("q", 100+i)})
	}
	if n := len(e.prints.waits); n != maxShelf {
		t.Errorf("%d wait, want %d", n, maxShelf)
	}
	if d := e.doneRecord("other", &megakernel.BatchResult{Sequence: wrapped, Executed: 1}); d.Printed != 0 {
		t.Error("the oldest did not make room")
	}
}
