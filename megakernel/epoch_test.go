//go:build cgo

package megakernel_test

import (
	"errors"
	"testing"

	"ringmaster/megakernel"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

func TestBatchThatNamesALostHeapRunsNoSlot(t *testing.T) {
	lost, next := openFaulty(t), openFaulty(t)
	e, err := megakernel.New(lost, smallConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	const slots = 70
	run := func(id string, epoch uint64) (report megakernel.Report) {
		t.Helper()
		b := megakernel.Batch{ID: id, Epoch: epoch}
		for i := range slots { // these would run again after a loss
			b.Slots = append(b.Slots, ring.Slot{Opcode: uint32(kernel.OpStore), Args: [12]uint32{9, uint32(i)}})
		}
		if err := e.Submit("q", b); err != nil {
			t.Fatal(err)
		}
		report, err := e.Launch(megakernel.Order{Queue: "q", Geometry: policy.Geometry{Width: 32, Groups: 2, Chunk: 64}})
		if err != nil || len(report.Finished) != 1 || report.Pending != 0 || report.Finished[0].ID != id {
			t.Fatalf("%s: report %+v, %v", id, report, err)
		}
		return report
	}
	ran := func(r megakernel.Report) bool {
		b := r.Finished[0]
		return r.Executed == slots && b.Executed == slots && b.Dropped == 0 && b.Err == nil
	}
	dropped := func(r megakernel.Report) bool {
		b := r.Finished[0]
		return r.Scheduled == 0 && b.Executed+b.Faulted == 0 && b.Dropped == slots && errors.Is(b.Err, megakernel.ErrHeapLost)
	}
	current := func() uint64 {
		t.Helper()
		epoch, err := e.Upload("q", 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		return epoch
	}
	first := current()
	if r := run("of this epoch", first); first == 0 || !ran(r) {
		t.Errorf("epoch %d: %+v", first, r)
	}
	if r := run("of an engine before", first-1); !dropped(r) {
		t.Errorf("%+v", r)
	}
	if err := e.Move(next); err != nil {
		t.Fatal(err)
	}
	second := current()
	if second <= first {
		t.Errorf("epoch %d has become %d", first, second)
	}
	if r := run("of the epoch before", first); !dropped(r) {
		t.Errorf("%+v", r)
	}
	word := []uint32{1}
	if err := e.Read("q", 0, word); err != nil || word[0] != 0 {
		t.Errorf("word 0 of the new window is %d, %v", word[0], err)
	}
	for name, epoch := range map[string]uint64{"of no epoch": 0, "of the new epoch": second} {
		if r := run(name, epoch); !ran(r) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
