package telemetry

import (
	"reflect"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"
)

// flatTokens are queue names that the hot path knows in these tests.
var flatTokens = []string{"q-7", "q0", "a"}

// compareFlat decodes the first record of payload on both paths and reports
// whether the hot one took it. Where it does, the general one takes it too,
// with the same values and the same bytes; where not, nothing was consumed.
func compareFlat(t interface{ Fatalf(string, ...any) }, payload []byte) bool {
	var d Decoder
	r := Record{Queue: fullQueue(), Graph: Graph{Has: HasAllGraph, NodeCount: 9}}
	d.Reset(payload)
	if len(payload) == 0 {
		return false
	}
	if !d.flat(&r) {
		if d.r.i != 0 {
			t.Fatalf("%x: %d bytes consumed without a record", payload, d.r.i)
		}
		return false
	}
	var general Decoder
	var want Record
	general.Reset(payload)
	if bad := general.record(&want); bad != nil {
		t.Fatalf("%x: taken as %v %+v, refused by the general path: %v", payload, r.Kind, r.Header, general.describe(0, bad))
	}
	if r.Kind == KindQueue {
		r.Graph = Graph{}
	} else {
		r.Queue = Queue{}
	}
	if !reflect.DeepEqual(r, want) || d.r.i != general.r.i {
		t.Fatalf("%x:\nhot     %+v, %d bytes\ngeneral %+v, %d bytes", payload, r, d.r.i, want, general.r.i)
	}
	return true
}

// TestHotPathAgreesWithTheGeneralOne compares them on records of the msgpack
// library with values of any type, cut short, extended and damaged.
func TestHotPathAgreesWithTheGeneralOne(t *testing.T) {
	taken, left := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]Kind{KindQueue, KindGraph, KindPriority}).Draw(t, "kind")
		b := bindKind(kind, new(Record))
		samples := make([]sample, len(b.targets))
		plain := rapid.Bool().Draw(t, "plain") // what the hot path is for
		for pos := range samples {
			switch {
			case pos == posKind:
				samples[pos].wire = []byte{byte(kind)}
			case pos == posQueue:
				name := rapid.SampledFrom(append(flatTokens, "", "new", "_batch", "a.b")).Draw(t, "queue")
				samples[pos].wire = libraryBytes(t, func(e *msgpack.Encoder) error { return e.EncodeString(name) })
			case plain:
				low, high := b.targets[pos].min, b.targets[pos].max
				v := rapid.OneOf(rapid.Uint64Range(low, high), rapid.SampledFrom([]uint64{low, high})).Draw(t, "v")
				samples[pos].wire = libraryBytes(t, func(e *msgpack.Encoder) error { return e.EncodeUint(v) })
			default:
				samples[pos] = drawSample(t, b.targets[pos].spec)
			}
		}
		payload, _ := libraryArray(t, samples)
		for range rapid.IntRange(0, 2).Draw(t, "damages") {
			at := rapid.IntRange(0, len(payload)-1).Draw(t, "at")
			if rapid.Bool().Draw(t, "cut") {
				payload = payload[:at+1]
			} else {
				payload[at] = rapid.Byte().Draw(t, "byte")
			}
		}
		if compareFlat(t, payload) {
			taken++
		} else {
			left++
		}
	})
	if taken == 0 || left == 0 {
		t.Errorf("%d records on the hot path, %d not: the test compares one side only", taken, left)
	}
}

// Without this the hot path could fall out of use unnoticed.
func TestOwnArraysTakeTheHotPath(t *testing.T) {
	h := testHeader()
	for has := range HasAllQueue + 1 {
		q := fullQueue()
		q.Has = has
		if !compareFlat(t, AppendQueue(nil, FormArray, &h, &q)) {
			t.Fatalf("queue record with fields %b took the general path", has)
		}
	}
	h.Queue = ""
	for has := Presence(1); has <= HasAllGraph; has++ {
		if !compareFlat(t, AppendGraph(nil, FormArray, &h, &Graph{Has: has, NodeCount: 1, FrontierNodes: 1})) {
			t.Fatalf("graph record with fields %b took the general path", has)
		}
	}
}

func FuzzFlat(f *testing.F) {
	h, q := testHeader(), fullQueue()
	f.Add(AppendQueue(nil, FormArray, &h, &q))
	f.Add(AppendGraph(nil, FormArray, &h, &Graph{Has: HasAllGraph, NodeCount: 5, FrontierNodes: 5}))
	f.Fuzz(func(t *testing.T, payload []byte) { compareFlat(t, payload) })
}
