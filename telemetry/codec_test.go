package telemetry

import (
	"io"
	"testing"
)

func fullQueue() Queue {
	return Queue{
		Has: HasAllQueue, QueueLen: 4096, RequestedWorkerGroups: 32, MaxWorkgroupSizeX: 1024,
		MaxWorkgroupsPerDimension: 65535, MaxInvocationsPerWorkgroup: 1024, RequestedHitCapacity: 0,
		ExpectedHitsPerItem: 2, HotOpcodeCount: 3, HotWindowCount: 70000, MaxPriorityAge: 5,
		RequeueCount: 123456789012, ExecutedCount: 99,
	}
}

func testHeader() Header {
	return Header{Incarnation: 0xfeedfacecafebeef, Seq: 17, SentNs: 1_700_000_000_000_000_000, Queue: "q0"}
}

func TestQueueRoundTripsInBothForms(t *testing.T) {
	h, q := testHeader(), fullQueue()
	for _, f := range []Form{FormMap, FormArray} {
		b := AppendQueue(nil, f, &h, &q)
		if n, err := Check(b, DefaultTelemetryLimits); n != 1 || err != nil {
			t.Fatalf("form %d: Check: %d, %v", f, n, err)
		}
		var d Decoder
		var r Record
		d.Reset(b)
		if err := d.Next(&r); err != nil {
			t.Fatal(err)
		}
		if r.Queue != q {
			t.Errorf("form %d: got %+v, want %+v", f, r.Queue, q)
		}
		if err := d.Next(&r); err != io.EOF {
			t.Errorf("form %d: after the last record: %v, want io.EOF", f, err)
		}
	}
}
