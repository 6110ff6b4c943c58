package main

import (
	"reflect"
	"testing"

	"ringmaster/telemetry"
)

// A yardstick that reads less than the decoder would flatter it, or the other way round.
func TestYardsticksReadTheWholeRecord(t *testing.T) {
	h := telemetry.Header{Incarnation: 9, Seq: 17, SentNs: 1_700_000_000_000_000_000, Queue: "q0"}
	q := benchRecord(fullRecords, 3)
	record := telemetry.Append(nil, telemetry.EncodingArray, h, &q)
	h.Kind, q.Has = telemetry.KindQueue, 0
	method, reflection := newYardstick(true), newYardstick(false)
	for _, y := range []*yardstick{method, reflection} {
		if err := y.decode(record); err != nil {
			t.Fatal(err)
		}
		if err := y.decode(record[:len(record)-1]); err == nil {
			t.Error("a record that is cut short was decoded")
		}
		if err := y.decode(record); err != nil {
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
