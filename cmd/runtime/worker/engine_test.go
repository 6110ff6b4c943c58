//go:build cgo

package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"ringmaster/actors"
	"ringmaster/megakernel"
	"ringmaster/megakernel/faultgl"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

func TestSlotsThatDoNotRunAreDroppedForAReason(t *testing.T) {
	for err, want := range map[error]string{
		nil:                    "",
		megakernel.ErrHeapLost: "heap lost", megakernel.ErrCanceled: "canceled", megakernel.ErrDeadline: "deadline",
		faultgl.Loss{Kind: faultgl.Guilty}: "device lost", errors.New("else"): "else",
	} {
		dropped := uint32(5)
		if err == nil {
			dropped = 0
		} else {
			err = fmt.Errorf("batch: %w", err)
			want = map[bool]string{true: "batch: else", false: want}[want == "else"]
		}
		d := doneRecord(&megakernel.BatchResult{ID: "b", Executed: 3, Faulted: 1, Dropped: dropped, Err: err})
		if d.Executed != 3 || d.Faulted != 1 || len(d.Faults) != 0 || d.Dropped != dropped || d.Error != want {
			t.Errorf("%v: %+v", err, d)
		}
	}
}

// A ring ages what waits as the policy that decides says.
func TestEngineAgesAsItsConfigSays(t *testing.T) {
	for given, want := range map[uint32]uint32{0: megakernel.DefaultConfig().AgeThreshold, 5: 5} {
		got := uint32(0)
		e, err := newEngine(newFaultyGPU(t), EngineConfig{AgeThreshold: given}, slog.New(slog.DiscardHandler), func(c *megakernel.Config) { got = c.AgeThreshold })
		must(t, err)
		if err := e.Close(); err != nil || got != want {
			t.Errorf("a threshold of %d became %d, want %d (%v)", given, got, want, err)
		}
	}
}

func TestBatchOverItsDeadlineRunsNoSlot(t *testing.T) {
	e, err := newEngine(newFaultyGPU(t), EngineConfig{}, slog.New(slog.DiscardHandler))
	must(t, err)
	submit := func(batch string, has telemetry.Presence, ms uint32) {
		t.Helper()
		w := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasSlots | has, Batch: batch, Slots: make([]telemetry.Slot, 30), DeadlineMs: ms}
		must(t, e.Submit("q", &w))
	}
	ended := make(chan []telemetry.Done, 1)
	e.OnEnded(func(_ string, done []telemetry.Done) { ended <- done })
	submit("late", telemetry.HasDeadlineMs, 1)
	submit("in time", telemetry.HasDeadlineMs, 1<<32-1)
	submit("whenever", telemetry.HasDeadlineMs, 0)
	submit("not asked", 0, 1)
	late := <-ended // no launch is needed for it
	r := e.launch(actors.Order{Launch: 1, Queue: "q", Plan: policy.Recommendation{WorkgroupSizeX: 32, DispatchGrid: [3]uint32{1, 1, 1}, ClaimChunk: 64}})
	if r.Launch.Status != telemetry.LaunchOK || len(r.Done) != 3 || len(late) != 1 || r.Pending != 0 {
		t.Fatalf("%+v", r)
	}
	for _, d := range append(r.Done, late...) {
		if late := d.Batch == "late"; late != (d.Error == "deadline") || late != (d.Dropped == 30) || late != (d.Executed == 0) {
			t.Errorf("%+v", d)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestLaunchReportNamesModeAndKernelOfWhatRan(t *testing.T) {
	for mode, want := range map[megakernel.LaunchMode]struct {
		mode   telemetry.LaunchMode
		kernel kernel.KernelKind
	}{megakernel.ModeWave: {telemetry.ModeWave, kernel.Interpreter}, megakernel.ModeLease: {telemetry.ModeLease, kernel.Lease}} {
		r := launchRecord(&megakernel.Report{TimeSource: gpu.TimeFinish, Leased: mode == megakernel.ModeLease, Kernel: kernel.Kernel{Kind: want.kernel, Width: 64}})
		if !r.Has.Has(telemetry.HasMode|telemetry.HasKernel) || r.Mode != want.mode || r.Kernel != want.kernel.String()+"-64" {
			t.Errorf("%v: mode %v, kernel %q", mode, r.Mode, r.Kernel)
		}
	}
	if r := launchRecord(&megakernel.Report{}); r.Has.Has(telemetry.HasMode) || r.Has.Has(telemetry.HasKernel) {
		t.Errorf("nothing ran: mode %v, kernel %q", r.Mode, r.Kernel)
	}
}
