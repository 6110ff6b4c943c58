package telemetry

import (
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// compareBatch takes a payload on both paths and reports whether the hot one
// took it. Where it does, the careful one takes it too, with the same records.
func compareBatch(t interface{ Fatalf(string, ...any) }, d *Decoder, into *Flats, payload []byte, limits CheckLimits) bool {
	into.Records = into.Records[:0]
	if !d.Flat(into, payload, limits) {
		return false
	}
	records := into.Records
	if n, err := Check(payload, limits); err != nil || n != len(records) {
		t.Fatalf("%x: %d records taken, the structure check says %d, %v", payload, len(records), n, err)
	}
	var general Decoder
	general.Reset(payload)
	unnamed := false
	var late LateQueue
	atOnce, deferred := fullQueue(), fullQueue()
	for i := range records {
		got, want := records[i], new(Record)
		if bad := general.record(want); bad != nil {
			t.Fatalf("%x: record %d taken as %+v, refused by the general path: %v", payload, i, got, general.describe(i, bad))
		}
		unnamed = unnamed || got.Header.Queue == ""
		if got.Header.Queue != "" && got.Place/2 != uint16(TokenPlace(got.Header.Queue))/2 {
			t.Fatalf("%q is said to be at %d", got.Header.Queue, got.Place)
		}
		body, wantBody := any(nil), any(nil)
		if got.Kind == KindGraph {
			was := Graph{Has: HasEdgeCount | HasMemoryPressureBps, NodeCount: 1, EdgeCount: 2, MemoryPressureBps: 3}
			merged := [2]Graph{was, was}
			got.MergeGraph(&merged[0])
			merged[1].Merge(&want.Graph)
			body, wantBody = merged[0], merged[1]
		} else {
			was := fullQueue()
			was.Has &^= HasQueueLen
			merged := [2]Queue{was, was}
			got.MergeQueue(&merged[0])
			merged[1].Merge(&want.Queue)
			atOnce.Merge(&want.Queue)
			if late.Merge(&got, &deferred); i%3 == 2 {
				late.Settle(&deferred)
			}
			body, wantBody = merged[0], merged[1]
			if requeues, executed := got.Counters(); requeues != want.Queue.RequeueCount || executed != want.Queue.ExecutedCount || got.Has() != want.Queue.Has {
				t.Fatalf("%x: record %d: counters %d and %d, has %b, of %+v", payload, i, requeues, executed, got.Has(), want.Queue)
			}
		}
		if got.Header != want.Header || !reflect.DeepEqual(body, wantBody) {
			t.Fatalf("%x: record %d\nhot     %+v %+v\ngeneral %+v %+v", payload, i, got.Header, body, want.Header, wantBody)
		}
	}
	if late.Settle(&deferred); deferred != atOnce {
		t.Fatalf("%x: read late %+v, at once %+v", payload, deferred, atOnce)
	}
	if into.Unnamed != unnamed {
		t.Fatalf("%x: a record without a queue: %v, said to be %v", payload, unnamed, into.Unnamed)
	}
	if general.r.i != len(payload) {
		t.Fatalf("%x: %d bytes are no part of a record", payload, len(payload)-general.r.i)
	}
	return true
}

// drawFlat is a queue or graph record as a publisher might send it.
func drawFlat(t *rapid.T) []byte {
	value := func(most uint64) uint64 {
		return rapid.OneOf(rapid.Uint64Range(1, most), rapid.SampledFrom([]uint64{0, 1, 127, 128, 255, 256, 9999, 10_000})).Draw(t, "value") % (most + 1)
	}
	h := Header{
		Minor: uint32(value(300)), Incarnation: rapid.Uint64Range(1, maxU64).Draw(t, "incarnation"), Seq: 1 + value(1<<33), SentNs: int64(value(maxI64)),
		Queue: rapid.SampledFrom([]string{"", "a", "q0", "q1", "q2", "q3", "prefill", "decode-07", "a-long-name-of-a-queue_0000001", "an-even-longer-name-of-a-queue_0000001"}).Draw(t, "queue"),
	}
	has := rapid.OneOf(rapid.Just(HasAllQueue), rapid.Custom(func(t *rapid.T) Presence { return Presence(rapid.Uint64Range(0, uint64(HasAllQueue)).Draw(t, "has")) })).Draw(t, "fields")
	u32 := func() uint32 { return uint32(value(maxU32)) }
	if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
		g := Graph{Has: has & HasAllGraph, NodeCount: u32(), EdgeCount: u32(), FrontierDensityBps: uint16(value(10_000)), FrontierOutDegreeSum: value(maxU64 - 1),
			FrontierNodes: u32(), UnexploredEdges: value(maxU64 - 1), ResidentDeviceBytes: value(1 << 40), DeviceMemoryBudgetBytes: value(1 << 40), MemoryPressureBps: uint16(value(10_000)),
			HitCount: value(maxU64 - 1), RequeuedHitCount: value(maxU64 - 1)}
		g.FrontierNodes %= max(g.NodeCount, 1)
		return AppendGraph(nil, FormArray, &h, &g)
	}
	q := Queue{Has: has, QueueLen: u32(), RequestedWorkerGroups: u32(), MaxWorkgroupSizeX: 1 | u32(), MaxWorkgroupsPerDimension: 1 | u32(), MaxInvocationsPerWorkgroup: 1 | u32(),
		RequestedHitCapacity: u32(), ExpectedHitsPerItem: u32(), HotOpcodeCount: u32(), HotWindowCount: u32(), MaxPriorityAge: u32(), RequeueCount: value(maxU64 - 1), ExecutedCount: value(maxU64 - 1)}
	return AppendQueue(nil, FormArray, &h, &q)
}

// TestPayloadInOnePassAgreesWithTheCarefulWay compares them on payloads of a
// few records, again and again with one decoder so that shapes are known, with
// values changed in place and bytes damaged, and with limits around their size.
func TestPayloadInOnePassAgreesWithTheCarefulWay(t *testing.T) {
	taken, left := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var d Decoder
		var into Flats
		kinds := make([][]byte, rapid.IntRange(1, 4).Draw(t, "kinds"))
		for i := range kinds {
			kinds[i] = drawFlat(t)
		}
		for range rapid.IntRange(1, 12).Draw(t, "payloads") {
			var payload []byte
			for range rapid.IntRange(1, 5).Draw(t, "records") {
				payload = append(payload, kinds[rapid.IntRange(0, len(kinds)-1).Draw(t, "which")]...)
			}
			for range rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2}).Draw(t, "damages") {
				at := rapid.IntRange(0, len(payload)-1).Draw(t, "at")
				if rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
					payload = payload[:at+1]
				} else {
					payload[at] = rapid.Byte().Draw(t, "byte")
				}
			}
			limits := DefaultTelemetryLimits
			switch rapid.IntRange(0, 15).Draw(t, "limit") {
			case 0:
				limits.MaxRecords = rapid.IntRange(1, 5).Draw(t, "max")
			case 1:
				limits.MaxItems = rapid.IntRange(1, 100).Draw(t, "max")
			case 2:
				limits.MaxBytes = len(payload) - rapid.IntRange(0, 1).Draw(t, "over")
			case 3:
				limits.MaxString = rapid.IntRange(1, 40).Draw(t, "max")
			}
			if compareBatch(t, &d, &into, payload, limits) {
				taken++
			} else {
				left++
			}
		}
	})
	if taken < left/4 || left == 0 {
		t.Errorf("%d payloads in one pass, %d not: the test compares one side only", taken, left)
	}
}

// manyQueues is a payload of records that each carry everything.
func manyQueues(n, turn int) []byte {
	var payload []byte
	for i := range n {
		h := Header{Incarnation: 0x1234567890abcdef, Seq: uint64(1 + turn), SentNs: 1_700_000_000_000_000_000, Queue: fmt.Sprint("q", i)}
		q := fullQueue()
		q.QueueLen = uint32(300*i + turn)
		payload = AppendQueue(payload, FormArray, &h, &q)
	}
	return payload
}

// Without this the hot path could fall out of use unnoticed.
func TestOwnPayloadsAreTakenInOnePass(t *testing.T) {
	var d Decoder
	var into Flats
	for turn := range 200 {
		if payload := manyQueues(100, turn); !compareBatch(t, &d, &into, payload, DefaultTelemetryLimits) {
			t.Fatalf("turn %d: not taken", turn)
		}
	}
	h, q := testHeader(), fullQueue()
	if d.Flat(&into, AppendQueue(manyQueues(3, 0), FormMap, &h, &q), DefaultTelemetryLimits) {
		t.Error("a payload with a record in map form was taken in one pass")
	}
}

func TestPayloadInOnePassAllocatesNothing(t *testing.T) {
	var d Decoder
	var into Flats
	payload := manyQueues(32, 7)
	n := testing.AllocsPerRun(100, func() {
		if !d.Flat(&into, payload, DefaultTelemetryLimits) || len(into.Records) != 32 {
			t.Fatal("not taken")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkFlat is a payload of 32 full records, checked and decoded.
func BenchmarkFlat(b *testing.B) {
	var d Decoder
	var into Flats
	payload := manyQueues(32, 7)
	b.ReportAllocs()
	for b.Loop() {
		if !d.Flat(&into, payload, DefaultTelemetryLimits) {
			b.Fatal("not taken")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/32, "ns/record")
}

// FuzzBatch decodes a payload twice with one decoder, so that the second time
// meets the shapes of the first, and once more with its tail from another one.
func FuzzBatch(f *testing.F) {
	f.Add(manyQueues(2, 0), manyQueues(3, 500), uint16(90))
	h := testHeader()
	g := AppendGraph(nil, FormArray, &h, &Graph{Has: HasAllGraph, NodeCount: 5, FrontierNodes: 5})
	f.Add(g, append(manyQueues(1, 1), g...), uint16(20))
	f.Add(AppendQueue(nil, FormArray, &h, &Queue{Has: HasQueueLen, QueueLen: 70_000}), g, uint16(30))
	zeros := AppendQueue(nil, FormArray, &h, &Queue{Has: HasQueueLen | HasRequestedWorkerGroups})
	f.Add(zeros, zeros[:len(zeros)-1], uint16(len(zeros)-1))
	f.Fuzz(func(t *testing.T, a, b []byte, cut uint16) {
		var d Decoder
		var into Flats
		for _, payload := range [][]byte{a, a, b, append(a[:min(int(cut), len(a)):min(int(cut), len(a))], b[min(int(cut), len(b)):]...), a} {
			compareBatch(t, &d, &into, payload, DefaultTelemetryLimits)
		}
	})
}

// The records that a decoder has seen the like of are taken without a look at
// single values, whatever the order of the queues and wherever the payload ends.
func TestRecordsLikeTheLastOnesAreTakenByTheirShape(t *testing.T) {
	h := testHeader()
	record := func(kind Kind, queue string, seq uint64) []byte {
		h.Queue, h.Seq = queue, seq
		if kind == KindGraph {
			return AppendGraph(nil, FormArray, &h, &Graph{Has: HasAllGraph, NodeCount: 500, FrontierNodes: 300, FrontierDensityBps: 9000})
		}
		q := fullQueue()
		return AppendQueue(nil, FormArray, &h, &q)
	}
	queues := []string{"a", "seven-7", "eight-88", "a-name-of-thirty-one-bytes-0000", ""}
	var d Decoder
	var into Flats
	rapid.Check(t, func(t *rapid.T) {
		var payload []byte
		if d.shapes == nil { // each queue and kind once, one after the other
			for _, q := range queues {
				payload = append(payload, record(KindQueue, q, 1000)...)
				payload = append(payload, record(KindGraph, q, 1000)...)
			}
			compareBatch(t, &d, &into, payload, DefaultTelemetryLimits)
			payload = nil
		}
		for range rapid.IntRange(1, 12).Draw(t, "records") {
			kind := rapid.SampledFrom([]Kind{KindQueue, KindGraph}).Draw(t, "kind")
			payload = append(payload, record(kind, rapid.SampledFrom(queues).Draw(t, "queue"), rapid.Uint64Range(256, 65535).Draw(t, "seq"))...)
		}
		if !compareBatch(t, &d, &into, payload, DefaultTelemetryLimits) {
			t.Fatalf("%x: not taken", payload)
		}
		for i := range into.Records {
			if into.Records[i].shape == nil {
				t.Fatalf("record %d of queue %q was taken value by value", i, into.Records[i].Header.Queue)
			}
		}
	})
}

// What is behind the end of a payload is no part of its last record, although
// a decoder that knows the record's shape could read zeros there.
func TestRecordThatEndsEarlyIsNotTaken(t *testing.T) {
	h := testHeader()
	h.Queue = "last"
	for _, q := range []Queue{fullQueue(), {Has: HasAllQueue &^ (HasMaxWorkgroupSizeX | HasMaxWorkgroupsPerDimension | HasMaxInvocationsPerWorkgroup)}} {
		whole := AppendQueue(manyQueues(3, 1), FormArray, &h, &q)
		first := len(manyQueues(3, 1))
		var d Decoder
		var into Flats
		for range 2 {
			compareBatch(t, &d, &into, whole, DefaultTelemetryLimits)
		}
		for end := first + 1; end < len(whole); end++ {
			if compareBatch(t, &d, &into, whole[:end], DefaultTelemetryLimits) {
				t.Errorf("%d of %d bytes were taken", end, len(whole))
			}
			compareBatch(t, &d, &into, whole, DefaultTelemetryLimits)
		}
	}
}

// A publisher whose records never look alike must not have a shape made for each.
func TestShapesCostNoMoreThanWhatWasSent(t *testing.T) {
	var d Decoder
	var into Flats
	h, sent := testHeader(), 0
	learned := make(map[*shape]bool)
	for has := range HasAllQueue + 1 {
		q := fullQueue()
		q.Has = has
		payload := AppendQueue(nil, FormArray, &h, &q)
		sent += len(payload)
		if !d.Flat(&into, payload, DefaultTelemetryLimits) {
			t.Fatal("not taken")
		}
		for _, s := range d.shapes.shapeSet.known {
			learned[s] = true
		}
	}
	if size := int(unsafe.Sizeof(shape{})); size > shapeCost || len(learned) > (sent+firstCredit)/shapeCost+1 {
		t.Errorf("%d shapes of %d bytes were made for %d bytes", len(learned), size, sent)
	}
}

// A likeness that is larger, or not aligned, is two misses of the cache.
func TestLikenessesAreLinesOfACache(t *testing.T) {
	var table shapeTable
	if size, at := unsafe.Sizeof(likeness{}), unsafe.Offsetof(table.known); size != 64 || at%64 != 0 {
		t.Errorf("%d bytes each, the first one at %d", size, at)
	}
}
