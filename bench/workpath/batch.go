package workpath

import (
	"bytes"
	"fmt"

	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
	"ringmaster/telemetry"
)

// batch is an encoded batch whose name is written anew each time it is sent.
type batch struct {
	payload []byte
	at      int // of the name
}

const nameForm = "batch%012d"

// newBatch encodes work under a name that occurs once.
func newBatch(w telemetry.Work) *batch {
	w.Batch = fmt.Sprintf(nameForm, 0)
	w.Has |= telemetry.HasBatch
	b := &batch{payload: telemetry.Append(nil, telemetry.EncodingArray, telemetry.Header{Incarnation: 1, Seq: 1, SentNs: 1}, &w)}
	b.at = bytes.Index(b.payload, []byte(w.Batch))
	return b
}

// name writes the name of the n-th batch, which the client library has copied by the time the next one is written.
func (b *batch) name(n uint64) string {
	id := fmt.Sprintf(nameForm, n)
	copy(b.payload[b.at:], id)
	return id
}

// asRun is n adds of 1, each to a word of its own, as a run.
func asRun(n int) *batch {
	addresses := make([]uint32, n)
	for i := range addresses {
		addresses[i] = uint32(i)
	}
	return newBatch(telemetry.Work{Has: telemetry.HasRuns, Runs: []telemetry.Run{{
		Opcode: uint32(kernel.OpAdd), Priority: ring.PriorityNormal, Count: uint32(n),
		NArgs: 2, Args: [telemetry.MaxSlotArgs]telemetry.Arg{{Value: 1}, telemetry.Words(addresses)},
	}}})
}

// asSlots is the same as slots.
func asSlots(n int) *batch {
	w := telemetry.Work{Has: telemetry.HasSlots}
	for i := range n {
		w.Slots = append(w.Slots, telemetry.Slot{
			Opcode: uint32(kernel.OpAdd), Priority: ring.PriorityNormal, Args: [telemetry.MaxSlotArgs]uint32{1, uint32(i)},
		})
	}
	return newBatch(w)
}

// yields is 16 slots that yield 255 times each.
func yields() *batch {
	return newBatch(telemetry.Work{Has: telemetry.HasRuns, Runs: []telemetry.Run{{
		Opcode: uint32(kernel.OpYield), Priority: ring.PriorityNormal, Count: 16, NArgs: 1, Args: [telemetry.MaxSlotArgs]telemetry.Arg{{Value: 255}},
	}}})
}
