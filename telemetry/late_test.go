package telemetry

import "testing"

// What an earlier record alone has said survives a later one that does not say it.
func TestLateBodyKeepsWhatItsSuccessorDoesNotSay(t *testing.T) {
	h := testHeader()
	var payload []byte
	for i, has := range []Presence{HasQueueLen, HasQueueLen, HasQueueLen | HasHotOpcodeCount, HasMaxPriorityAge, HasMaxPriorityAge} {
		h.Seq = uint64(1 + i)
		payload = AppendQueue(payload, FormArray, &h, &Queue{Has: has, QueueLen: uint32(10 + i), HotOpcodeCount: uint32(20 + i), MaxPriorityAge: uint32(30 + i)})
	}
	var d Decoder
	var into Flats
	var late LateQueue
	var q Queue
	if !d.Flat(&into, payload, DefaultTelemetryLimits) {
		t.Fatal("not taken")
	}
	for i := range into.Records {
		late.Merge(&into.Records[i], &q)
	}
	clear(payload)              // what waits is a copy
	if q.MaxPriorityAge != 33 { // of a record unlike the one before, which is read at once
		t.Error("the last body was read before anybody asked")
	}
	late.Settle(&q)
	if want := (Queue{Has: HasQueueLen | HasHotOpcodeCount | HasMaxPriorityAge, QueueLen: 12, HotOpcodeCount: 22, MaxPriorityAge: 34}); q != want {
		t.Errorf("got %+v, want %+v", q, want)
	}
	late.Merge(&into.Records[4], &q)
	late.Drop()
	if late.Settle(&q); q.MaxPriorityAge != 34 {
		t.Error("a dropped body was read")
	}
}
