package worker

import (
	"cmp"
	"slices"
	"sync"

	"ringmaster/megakernel"
	"ringmaster/megakernel/kernel"
	"ringmaster/telemetry"
)

// maxShelf bounds the prints that wait for the end of their batch. Beyond it the oldest
// are dropped.
const maxShelf = megakernel.PrintRecords

// printShelf holds what slots printed until their batches are finished.
type printShelf struct {
	mu    sync.Mutex
	waits []megakernel.Print
}

func (s *printShelf) add(prints []megakernel.Print) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = append(s.waits, prints...)
	if over := len(s.waits) - maxShelf; over > 0 {
		s.waits = slices.Delete(s.waits, 0, over)
	}
}

// take removes and returns the prints of n slots of a queue, beginning at a sequence
// number, in the order of the slots.
func (s *printShelf) take(queue string, first, n uint32) (taken []megakernel.Print) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = slices.DeleteFunc(s.waits, func(p megakernel.Print) bool {
		if p.Queue != queue || p.Sequence-first >= n {
			return false
		}
		taken = append(taken, p)
		return true
	})
	slices.SortStableFunc(taken, func(a, b megakernel.Print) int { return cmp.Compare(a.Sequence-first, b.Sequence-first) })
	return taken
}

// readPrints fetches what the slots of a launch printed, before its batches are reported.
func (e *Engine) readPrints(report *megakernel.Report) {
	if report.Opcodes[kernel.OpPrint] == 0 {
		return
	}
	prints, overwritten, err := e.ring.Prints()
	if err != nil {
		e.keeper.log.Warn("prints are lost", "queue", report.Queue, "error", err)
		return
	}
	if overwritten > 0 {
		e.keeper.log.Debug("prints are overwritten", "count", overwritten)
	}
	for _, p := range prints {
		e.keeper.log.Debug("print", "queue", p.Queue, "sequence", p.Sequence, "args", p.Args)
	}
	e.prints.add(prints)
}

// doneRecord is a finished batch on the wire, with what its slots printed. The batch's slots are
// released.
func (e *Engine) doneRecord(queue string, b *megakernel.BatchResult) telemetry.Done {
	d := doneRecord(b)
	telemetry.ReleaseSlots(b.Slots)
	b.Slots = nil
	prints := e.prints.take(queue, b.Sequence, b.Executed+b.Faulted+b.Dropped)
	d.Printed = uint32(min(len(prints), telemetry.MaxBatchSlots))
	for _, p := range prints[:min(len(prints), telemetry.MaxPrints)] {
		d.Prints = append(append(d.Prints, p.Sequence-b.Sequence), p.Args[:]...)
	}
	return d
}
