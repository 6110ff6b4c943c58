package telemetry

import (
	"reflect"
	"testing"
)

// A yardstick that reads less than the decoder would flatter it, or the other way round.
func TestYardsticksReadTheWholeRecord(t *testing.T) {
	h, q := testHeader(), fullQueue()
	record := AppendQueue(nil, FormArray, &h, &q)
	h.Kind, q.Has = KindQueue, 0
	method, reflection := NewYardstick(true), NewYardstick(false)
	for _, y := range []*Yardstick{method, reflection} {
		if err := y.Decode(record); err != nil {
			t.Fatal(err)
		}
		if err := y.Decode(record[:len(record)-1]); err == nil {
			t.Error("a record that is cut short was decoded")
		}
		if err := y.Decode(record); err != nil {
			t.Fatal(err)
		}
	}
	if got := method.into.(*custom); !reflect.DeepEqual(*got, custom{h, q}) {
		t.Errorf("got %+v", *got)
	}
	r := method.into.(*custom)
	want := reflected{
		Kind: uint8(r.h.Kind), Incarnation: h.Incarnation, Seq: h.Seq, SentNs: h.SentNs, Queue: h.Queue,
		A: q.QueueLen, B: q.RequestedWorkerGroups, C: q.MaxWorkgroupSizeX, D: q.MaxWorkgroupsPerDimension,
		E: q.MaxInvocationsPerWorkgroup, F: q.RequestedHitCapacity, G: q.ExpectedHitsPerItem, H: q.HotOpcodeCount,
		I: q.HotWindowCount, J: q.MaxPriorityAge, K: q.RequeueCount, L: q.ExecutedCount,
	}
	if got := reflection.into.(*reflected); *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
}
