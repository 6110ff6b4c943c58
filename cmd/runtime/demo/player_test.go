package demo

import (
	"testing"

	"ringmaster/telemetry"
)

// On a worker that others use too, their batches do not end a replay early. A done record that comes twice is of one batch.
func TestAPlayerCountsItsOwnBatchesOnce(t *testing.T) {
	var p Player
	p.undone.Store("7-1", true)
	q := &p.queues[decode]
	q.outstanding.Store(10)
	q.batches.Store(1)
	p.onDone("", "decode", nil, &telemetry.Done{Batch: "8-1", Executed: 5})
	if q.batches.Load() != 1 || q.outstanding.Load() != 10 || q.executed.Load() != 0 {
		t.Errorf("a stranger's batch counted: %d batches and %d slots outstanding, %d executed", q.batches.Load(), q.outstanding.Load(), q.executed.Load())
	}
	for range 2 {
		p.onDone("", "decode", nil, &telemetry.Done{Batch: "7-1", Executed: 9, Faulted: 1})
	}
	if q.batches.Load() != 0 || q.outstanding.Load() != 0 || q.executed.Load() != 9 || q.faulted.Load() != 1 {
		t.Errorf("%d batches and %d slots outstanding, %d executed, %d faulted", q.batches.Load(), q.outstanding.Load(), q.executed.Load(), q.faulted.Load())
	}
}
