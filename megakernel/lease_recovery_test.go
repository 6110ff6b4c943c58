//go:build cgo

package megakernel_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"ringmaster/megakernel"
	"ringmaster/megakernel/faultgl"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

// leaseTestDispatches are dispatches of the self-test of a lease, which come first on a device.
var leaseTestDispatches = []int{2, 3, 4, 5, 6}

func TestALossDuringTheSelfTestOfTheLeaseIsReported(t *testing.T) {
	cfg := smallConfig()
	cfg.Lease = true
	for _, dispatch := range leaseTestDispatches {
		faulty := func() *faultgl.Device {
			return openFaulty(t, faultgl.Fault{Kind: faultgl.Guilty, Dispatch: dispatch, After: dispatch%2 == 0})
		}
		if e, err := megakernel.New(faulty(), cfg); !gpu.Lost(err) {
			t.Errorf("dispatch %d: engine %v, error %v", dispatch, e, err)
		}
		e, err := megakernel.New(openFaulty(t), cfg)
		if err != nil {
			t.Fatal(err)
		}
		slots := []ring.Slot{{Opcode: uint32(kernel.OpStore), Args: [ring.ArgWords]uint32{9, 3}}}
		if err := e.Submit("q", megakernel.Batch{ID: "b", Slots: slots}); err != nil {
			t.Fatal(err)
		}
		if err := e.Move(faulty()); !gpu.Lost(err) {
			t.Errorf("dispatch %d: move: %v", dispatch, err)
		}
		if err := e.Move(openFaulty(t)); err != nil {
			t.Errorf("dispatch %d: the next move: %v", dispatch, err)
		}
		if _, err := e.LeaseSupport(); err != nil {
			t.Errorf("dispatch %d: no lease at the end: %v", dispatch, err)
		}
		report, err := e.Launch(megakernel.Order{Queue: "q", Geometry: policy.Geometry{Width: 32, Groups: 1, Chunk: 64}})
		if err != nil || len(report.Finished) != 1 || report.Finished[0].Err != nil {
			t.Errorf("dispatch %d: %+v, %v", dispatch, report, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLeaseIsThereAgainAfterALoss resets the device at every dispatch from the end of the
// lease's own tests on, in kernels with and without a round.
func TestLeaseIsThereAgainAfterALoss(t *testing.T) {
	geometry := policy.Geometry{Width: 32, Groups: 2, Chunk: 64}
	losses := 0
	for dispatch := 7; dispatch <= 15; dispatch++ {
		fault := faultgl.Fault{Kind: faultgl.Guilty, Dispatch: dispatch, After: dispatch%2 == 0}
		cfg := smallConfig()
		cfg.Lease = true
		cfg.Log = slog.New(slog.NewTextHandler(t.Output(), nil)) // says why a device has no lease
		e, err := megakernel.New(openFaulty(t, fault), cfg)
		if gpu.Lost(err) {
			losses++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		moved := false
		for i := range 24 {
			slots := make([]ring.Slot, 16)
			for j := range slots {
				slots[j] = ring.Slot{Opcode: uint32(kernel.OpStore), Args: [ring.ArgWords]uint32{uint32(i), uint32(j)}}
			}
			if err := e.Submit("q", megakernel.Batch{ID: fmt.Sprint(i), Slots: slots}); err != nil {
				t.Fatal(err)
			}
			mode := megakernel.ModeLease
			if i%6 == 5 {
				mode = megakernel.ModeWave // ends the kernel
			}
			for e.Pending("q") > 0 {
				report, err := e.Launch(megakernel.Order{Queue: "q", Geometry: geometry, Mode: mode})
				if gpu.Lost(err) {
					if moved {
						t.Fatalf("dispatch %d: lost again: %v", dispatch, err)
					}
					moved = true
					losses++
					err = e.Move(openFaulty(t))
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range report.Finished {
					if b.ID != fmt.Sprint(i) || b.Executed != 16 || b.Err != nil {
						t.Errorf("dispatch %d: %+v", dispatch, b)
					}
				}
			}
		}
		if _, err := e.LeaseSupport(); err != nil {
			t.Errorf("dispatch %d: no lease at the end: %v", dispatch, err)
		}
		got := make([]uint32, 16)
		if err := e.Read("q", 0, got); err != nil || got[7] != 23 {
			t.Errorf("dispatch %d: %v, %v", dispatch, got, err)
		}
		if err := e.Close(); err != nil && !errors.Is(err, megakernel.ErrClosed) {
			t.Error(err)
		}
	}
	if losses < 5 {
		t.Errorf("%d losses", losses)
	}
}
