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

// TestLeaseIsThereAgainAfterALoss resets the device at every dispatch from the
// lease's own tests on, in kernels with and without a round.
func TestLeaseIsThereAgainAfterALoss(t *testing.T) {
	geometry := policy.Geometry{Width: 32, Groups: 2, Chunk: 64}
	losses := 0
	for dispatch := 4; dispatch <= 12; dispatch++ {
		fault := faultgl.Fault{Kind: faultgl.Guilty, Dispatch: dispatch, After: dispatch%2 == 0}
		cfg := megakernel.DefaultConfig()
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
