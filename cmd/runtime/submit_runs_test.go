package main

import (
	"testing"

	"ringmaster/ring"
	"ringmaster/telemetry"
)

func TestSlotsAreSentAsOneRun(t *testing.T) {
	slots := make([]ring.Slot, 300)
	for i := range slots {
		slots[i] = ring.Slot{Opcode: 7, Priority: 3, Args: [ring.ArgWords]uint32{9, uint32(i), 0, 5}}
	}
	run := runOf(slots)
	if run.Opcode != 7 || run.Priority != 3 || run.Count != 300 || run.NArgs != 4 || run.Args[0].Words != nil || run.Args[3].Words != nil {
		t.Fatalf("run %+v", run)
	}
	for i := range slots {
		for a := range run.Args {
			if got := run.Args[a].At(i); got != slots[i].Args[a] {
				t.Fatalf("argument %d of slot %d is %d", a, i, got)
			}
		}
	}
}

func TestABatchIsAsLargeAsItsMessageMayBe(t *testing.T) {
	slots := make([]ring.Slot, telemetry.MaxBatchSlots+1)
	if n := batchSlots(slots); n != telemetry.MaxBatchSlots {
		t.Errorf("%d equal slots", n)
	}
	for i := range slots {
		for a := range slots[i].Args {
			slots[i].Args[a] = uint32(i)
		}
	}
	n := batchSlots(slots)
	work := telemetry.Work{Has: telemetry.HasAllWork &^ telemetry.HasSlots, Batch: "b", Runs: []telemetry.Run{runOf(slots[1 : n+1])}}
	payload := telemetry.Append(nil, telemetry.EncodingMap, telemetry.Header{Incarnation: 1, Seq: 1}, &work)
	if limit := telemetry.DefaultWorkLimits.MaxBytes; len(payload) > limit || len(payload) < limit*9/10 {
		t.Errorf("%d slots are %d bytes, the limit is %d", n, len(payload), limit)
	}
}
