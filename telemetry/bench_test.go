package telemetry

import (
	"testing"
)

// must ends a test in which something has failed that it does not prove. Tests of rapid are tests, too.
func must(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

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

var encodings = []struct {
	name     string
	encoding Encoding
}{{"array", EncodingArray}, {"map", EncodingMap}}

// steadyRecords are full records of the kinds that come all the time.
func steadyRecords(t testing.TB) []*Record {
	var out []*Record
	for i := range literals[:int(KindLaunch)] {
		out = append(out, &literals[i].want)
	}
	return out
}

func TestSteadyDecodingAllocatesNothing(t *testing.T) {
	for _, want := range steadyRecords(t) {
		for _, f := range encodings {
			payload := Append(nil, f.encoding, want.Header, want.Body())
			payload = append(payload, payload...)
			var d Decoder
			r := new(Record)
			decode := func() {
				if _, err := Check(payload, DefaultTelemetryLimits); err != nil {
					t.Fatal(err)
				}
				d.Reset(payload)
				for range 2 {
					must(t, d.Next(r))
				}
			}
			if n := testing.AllocsPerRun(200, decode); n != 0 {
				t.Errorf("%v, %s: %v allocations", want.Kind, f.name, n)
			}
		}
	}
}

func TestEncodingIntoAGrownBufferAllocatesNothing(t *testing.T) {
	most := 0.0
	if raceDetector {
		most = 3 // it makes sync.Pool forget encoders at random
	}
	for i := range literals {
		for _, f := range encodings {
			buf := Append(nil, f.encoding, literals[i].want.Header, literals[i].want.Body())
			if n := testing.AllocsPerRun(200, func() { buf = Append(buf[:0], f.encoding, literals[i].want.Header, literals[i].want.Body()) }); n > most {
				t.Errorf("%v, %s: %v allocations", literals[i].want.Kind, f.name, n)
			}
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, f := range encodings {
		b.Run(f.name, func(b *testing.B) {
			h, q := testHeader(), fullQueue()
			buf := Append(nil, f.encoding, h, &q)
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Check(buf, DefaultTelemetryLimits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, want := range steadyRecords(b) {
		for _, f := range encodings {
			b.Run(want.Kind.String()+"/"+f.name, func(b *testing.B) {
				buf := Append(nil, f.encoding, want.Header, want.Body())
				b.SetBytes(int64(len(buf)))
				b.ReportAllocs()
				var d Decoder
				var r Record
				for b.Loop() {
					d.Reset(buf)
					if err := d.Next(&r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, want := range steadyRecords(b) {
		for _, f := range encodings {
			b.Run(want.Kind.String()+"/"+f.name, func(b *testing.B) {
				var buf []byte
				b.ReportAllocs()
				for b.Loop() {
					buf = Append(buf[:0], f.encoding, want.Header, want.Body())
				}
				b.SetBytes(int64(len(buf)))
			})
		}
	}
}

func BenchmarkDecodeListedSlots(b *testing.B) {
	w := Work{Has: HasBatch | HasSlots, Batch: "b"}
	for i := range uint32(MaxListedSlots) {
		w.Slots = append(w.Slots, Slot{Opcode: 2, Priority: 2, Args: [MaxSlotArgs]uint32{1, i}})
	}
	payload := Append(nil, EncodingArray, Header{Incarnation: 1, Seq: 1}, &w)
	var d Decoder
	r := new(Record)
	b.ReportAllocs()
	for b.Loop() {
		d.Reset(payload)
		if err := d.Next(r); err != nil {
			b.Fatal(err)
		}
		ReleaseSlots(r.Work.Slots)
		r.Work.Slots = nil
	}
}
