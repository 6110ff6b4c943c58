//go:build cgo

package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"ringmaster/actors"
	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// failingGPU sees no wave done until it is released, and then fails the first.
type failingGPU struct {
	faultyGPU
	released atomic.Bool
	failed   atomic.Bool
}

var errWave = errors.New("a wave failed")

func (g *failingGPU) WaitFence(fence gpu.Fence, timeoutNs uint64) (bool, error) {
	if !g.released.Load() {
		return false, nil
	}
	if !g.failed.Swap(true) {
		return false, errWave
	}
	return g.faultyGPU.WaitFence(fence, timeoutNs)
}

// A batch whose deadline passes while its wave fails has nothing left to run, so no
// later launch would tell of it.
func TestABatchThatEndsWhileItsLaunchFailsIsReportedWithIt(t *testing.T) {
	dev := &failingGPU{faultyGPU: newFaultyGPU(t)}
	var later atomic.Int64
	e, err := newEngine(dev, EngineConfig{}, slog.New(slog.DiscardHandler), func(c *megakernel.Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	})
	must(t, err)
	begin := func(queue string, deadlineMs uint32) (b begun, settled *actors.Report) {
		work := telemetry.Work{Has: telemetry.HasDeadlineMs, Batch: queue, DeadlineMs: deadlineMs, Slots: make([]telemetry.Slot, 3)}
		must(t, e.Submit(queue, &work))
		settled = new(actors.Report)
		b = e.begin(launchOrder{
			actors.Order{Queue: queue, Plan: policy.Recommendation{WorkgroupSizeX: 32, DispatchGrid: [3]uint32{1, 1, 1}, ClaimChunk: 32, BatchDepth: 32, InFlight: 2}},
			func(r actors.Report) { *settled = r },
		})
		if b.err != nil {
			t.Fatal(b.err)
		}
		return b, settled
	}
	first, report := begin("a", 1000)
	later.Store(int64(time.Hour))
	second, other := begin("b", 0) // looks for deadlines that have passed
	dev.released.Store(true)
	flights := []begun{first, second}
	for len(flights) > 0 {
		r, err := e.ring.Wait(context.Background(), flights[0].ticket)
		flights = e.land(flights, landing{r, err})
	}
	if report.Launch.Status != telemetry.LaunchFailed || report.Pending != 0 || len(report.Done) != 1 {
		t.Fatalf("report %+v", report)
	}
	if d := report.Done[0]; d.Batch != "a" || d.Dropped != 3 || d.Error != "deadline" {
		t.Errorf("done record %+v", d)
	}
	if len(other.Done) != 1 || other.Done[0].Executed != 3 {
		t.Errorf("the launch beside it: %+v", other)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
