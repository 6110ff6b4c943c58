//go:build cgo

package worker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ringmaster/megakernel"
	"ringmaster/megakernel/kernel"
	"ringmaster/telemetry"
)

// More queues than windows have work at the same time: each gets its turn, none is refused.
func TestMoreQueuesThanWindowsAreServed(t *testing.T) {
	s := openDoneShop(t)
	const queues, rounds = 30, 3
	s.mu.Lock()
	s.want += queues * rounds
	s.mu.Unlock()
	for i := range queues * rounds {
		s.submit(t, fmt.Sprintf("stores-%d", i%queues), i, func(j int) telemetry.Slot {
			return telemetry.Slot{Opcode: uint32(kernel.OpStore), Args: [12]uint32{1, uint32(j)}}
		})
	}
	n := s.serve(t, func(cfg *Config) {
		cfg.Device = newFaultyGPU(t)
		cfg.Engine.Windows, cfg.Engine.WindowWords = 4, 1<<14
	})
	s.wait(t)
	if got := len(n.engine.ring.Stats().Queues); got > 4 {
		t.Errorf("%d queues have windows", got)
	}
	s.close(t, n)
	s.check(t)
}

func TestLimitsHoldForWorkOverNATS(t *testing.T) {
	s := openDoneShop(t)
	s.mu.Lock()
	s.want = shopBatches + 1 // the stores; the adds are refused, all before the last of the stores is seen
	s.mu.Unlock()
	s.submit(t, "stores", shopBatches, func(j int) telemetry.Slot {
		return telemetry.Slot{Opcode: uint32(kernel.OpStore), Args: [12]uint32{1, uint32(j)}}
	})
	n := s.serve(t, func(cfg *Config) {
		cfg.Device = newFaultyGPU(t)
		cfg.Engine.Limits = map[string]megakernel.QueueOptions{
			"*":    {MaxPending: 2 * shopSlots},
			"adds": {Opcodes: uint64(kernel.NewOpcodeSet(kernel.OpStore))},
		}
	})
	s.wait(t)
	s.close(t, n)
	s.check(t)
	if final := n.work[0].Stats(); final.Refused != shopBatches {
		t.Errorf("%d batches refused, want the %d of adds", final.Refused, shopBatches)
	}
}

// A queue over its quota, which gets nothing done, does not keep the work of others out.
func TestAQueueOverItsQuotaLeavesRoomForOthers(t *testing.T) {
	s := openDoneShop(t)
	const most = 8
	s.mu.Lock()
	s.want = shopBatches + shopBatches - 1 - most/2 // one of adds is with the ring, some wait
	s.mu.Unlock()
	n := s.serve(t, func(cfg *Config) {
		cfg.Device = newFaultyGPU(t)
		cfg.Work.MaxPending, cfg.Work.RetryMin, cfg.Work.RetryMax = most, time.Hour, time.Hour
		cfg.Engine.Limits = map[string]megakernel.QueueOptions{"adds": {MaxPending: shopSlots, Rate: 1e-6, Burst: 1}}
	})
	s.wait(t)
	s.close(t, n)
	if got := n.work[0].Stats(); got.Crowded != shopBatches-1-most/2 {
		t.Errorf("stats %+v", got)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, results := range s.done {
		d := results[0]
		if stores := strings.HasPrefix(name, "stores"); len(results) != 1 || stores != (d.Executed == shopSlots) ||
			!stores && (d.Dropped != shopSlots || !strings.Contains(d.Error, "quota")) {
			t.Errorf("batch %s: %+v", name, results)
		}
	}
	if said := s.said.String(); strings.Count(said, "work is refused, because as much of its queue waits") != 1 || !strings.Contains(said, "queue=adds") {
		t.Errorf("the log does not tell of it once: %s", said)
	}
}
