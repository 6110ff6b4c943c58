package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"
)

// sample is a value on the wire, written by the msgpack library, and what the
// schema says becomes of it: want (nil if absent) or a reason to refuse it.
type sample struct {
	wire   []byte
	want   any
	reason string
}

// libraryBytes encodes with the msgpack library.
func libraryBytes(t *rapid.T, encode func(*msgpack.Encoder) error) []byte {
	var buf bytes.Buffer
	must(t, encode(msgpack.NewEncoder(&buf)))
	return buf.Bytes()
}

// drawInteger writes an integer in any width and sign that holds it.
func drawInteger(t *rapid.T) (wire []byte, negative bool, v uint64) {
	edges := []uint64{0, 1, 127, 128, 255, 256, 9999, 10000, 10001, 65535, 65536, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	v = rapid.OneOf(rapid.SampledFrom(edges), rapid.Uint64(), rapid.Uint64Range(0, 300)).Draw(t, "v")
	if rapid.IntRange(0, 9).Draw(t, "sign") == 0 {
		n := -1 - int64(v>>1)
		return libraryBytes(t, func(e *msgpack.Encoder) error { return e.EncodeInt(n) }), true, 0
	}
	widths := []func(*msgpack.Encoder) error{
		func(e *msgpack.Encoder) error { return e.EncodeUint(v) },
		func(e *msgpack.Encoder) error { return e.EncodeUint64(v) },
	}
	add := func(limit uint64, f func(*msgpack.Encoder) error) {
		if v <= limit {
			widths = append(widths, f)
		}
	}
	add(math.MaxUint8, func(e *msgpack.Encoder) error { return e.EncodeUint8(uint8(v)) })
	add(math.MaxUint16, func(e *msgpack.Encoder) error { return e.EncodeUint16(uint16(v)) })
	add(math.MaxUint32, func(e *msgpack.Encoder) error { return e.EncodeUint32(uint32(v)) })
	add(math.MaxInt8, func(e *msgpack.Encoder) error { return e.EncodeInt8(int8(v)) })
	add(math.MaxInt16, func(e *msgpack.Encoder) error { return e.EncodeInt16(int16(v)) })
	add(math.MaxInt32, func(e *msgpack.Encoder) error { return e.EncodeInt32(int32(v)) })
	add(math.MaxInt64, func(e *msgpack.Encoder) error { return e.EncodeInt64(int64(v)) })
	return libraryBytes(t, rapid.SampledFrom(widths).Draw(t, "width")), false, v
}

// drawOther writes a value that is no integer, and its float value if it is one.
func drawOther(t *rapid.T) (wire []byte, float *float64) {
	f := rapid.OneOf(rapid.SampledFrom([]float64{0, 1, 0.5, -1, 1e9, 2e9, math.NaN(), math.Inf(1), math.Inf(-1)}), rapid.Float64()).Draw(t, "f")
	f32 := float64(float32(f))
	switch rapid.IntRange(0, 6).Draw(t, "other") {
	case 0:
		return libraryBytes(t, func(e *msgpack.Encoder) error { return e.EncodeFloat64(f) }), &f
	case 1:
		return libraryBytes(t, func(e *msgpack.Encoder) error { return e.EncodeFloat32(float32(f)) }), &f32
	case 2:
		return libraryBytes(t, func(e *msgpack.Encoder) error { return e.EncodeString("12") }), nil
	case 3:
		return libraryBytes(t, func(e *msgpack.Encoder) error { return e.EncodeBytes([]byte{1}) }), nil
	case 4:
		return libraryBytes(t, func(e *msgpack.Encoder) error { return e.EncodeBool(true) }), nil
	case 5:
		return libraryBytes(t, func(e *msgpack.Encoder) error { return e.Encode([]any{1, []any{2.5}}) }), nil
	}
	return libraryBytes(t, func(e *msgpack.Encoder) error { return e.Encode(map[string]any{"a": []int{1}}) }), nil
}

// drawSample draws a value for a number field: mostly integers, some nil, some
// of another type. Where it is an integer it is what the range says of it.
func drawSample(t *rapid.T, s *spec) sample {
	if s.typ == typeBool {
		v := rapid.Bool().Draw(t, "bool")
		return sample{wire: libraryBytes(t, func(e *msgpack.Encoder) error { return e.EncodeBool(v) }), want: v}
	}
	switch rapid.IntRange(0, 11).Draw(t, "shape") {
	case 0:
		return sample{wire: []byte{codeNil}}
	case 1:
		wire, float := drawOther(t)
		switch {
		case s.typ != typeF64 || float == nil:
			return sample{wire: wire, reason: ReasonWrongType}
		case *float >= 0 && *float <= float64(s.max): // false for NaN
			return sample{wire: wire, want: *float}
		}
		return sample{wire: wire, reason: ReasonOutOfRange}
	}
	wire, negative, v := drawInteger(t)
	for range 3 { // most records should have most of their fields
		if negative || v < s.min || v > s.max {
			wire, negative, v = drawInteger(t)
		}
	}
	if negative || v < s.min || v > s.max {
		return sample{wire: wire, reason: ReasonOutOfRange}
	}
	if s.typ == typeF64 {
		return sample{wire: wire, want: float64(v)}
	}
	return sample{wire: wire, want: v}
}

// TestDecoderAgreesWithTheSchemaOnLibraryEncodings builds records of the
// kinds whose bodies are numbers with the msgpack library, in both encodings, keys
// shuffled and mixed with unknown ones, and compares the decoder with an
// expectation that is derived from the drawn values alone.
func TestDecoderAgreesWithTheSchemaOnLibraryEncodings(t *testing.T) {
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]Kind{KindQueue, KindGraph, KindPriority}).Draw(t, "kind")
		r := new(Record)
		r.Kind = kind
		b := bind(r)
		samples := make([]sample, len(b.targets))
		for pos := range samples {
			switch pos {
			case posKind:
				samples[pos] = sample{wire: libraryBytes(t, func(e *msgpack.Encoder) error { return e.EncodeString(kind.String()) }), want: kind.String()}
			case posQueue:
				samples[pos] = sample{wire: libraryBytes(t, func(e *msgpack.Encoder) error { return e.EncodeString("q-7") }), want: "q-7"}
			default:
				samples[pos] = drawSample(t, b.targets[pos].spec)
			}
		}
		var payload []byte
		var order []int // in which the decoder meets the fields
		if rapid.Bool().Draw(t, "array") {
			payload, order = libraryArray(t, samples)
		} else {
			payload, order = libraryMap(t, b, samples)
		}
		met := make([]bool, len(samples))
		field, reason := "", ""
		for _, pos := range order {
			met[pos] = true
			if reason == "" && samples[pos].reason != "" {
				field, reason = b.targets[pos].spec.name, samples[pos].reason
			}
		}
		for pos := range samples {
			if s := b.targets[pos].spec; reason == "" && s.required && (!met[pos] || samples[pos].want == nil) {
				field, reason = s.name, ReasonMissingField
			}
		}
		if _, err := Check(payload, DefaultTelemetryLimits); err != nil {
			t.Fatalf("check of %x: %v", payload, err)
		}
		var d Decoder
		d.Reset(payload)
		err := d.Next(r)
		if reason == "" && kind == KindGraph && met[10] && met[6] && samples[10].want != nil && samples[6].want != nil &&
			samples[10].want.(uint64) > samples[6].want.(uint64) {
			reason = ReasonInconsistent
		}
		if reason != "" {
			refused++
			var re *RecordError
			if !errors.As(err, &re) || re.Reason != reason || re.Field != field {
				t.Fatalf("%x:\n got %v\nwant %s of %q", payload, err, reason, field)
			}
			return
		}
		accepted++
		if err != nil {
			t.Fatalf("%x: %v", payload, err)
		}
		for pos := range samples {
			want := samples[pos].want
			if !met[pos] {
				want = nil
			}
			if want == nil && (pos == posMinor || pos == posSentNs) {
				want = uint64(0) // the header has no presence bits
			}
			if got := b.targets[pos].read(pos, *b.has); !reflect.DeepEqual(got, want) {
				t.Fatalf("%x: %s: got %v, want %v", payload, b.targets[pos].spec.name, got, want)
			}
		}
	})
	if accepted == 0 || refused == 0 {
		t.Errorf("%d records accepted, %d refused: the test compares one side only", accepted, refused)
	}
}

// libraryArray writes the samples in order, cut short or with more elements.
func libraryArray(t *rapid.T, samples []sample) (payload []byte, order []int) {
	n := rapid.IntRange(5, len(samples)+2).Draw(t, "elements")
	payload = libraryBytes(t, func(e *msgpack.Encoder) error { return e.EncodeArrayLen(n) })
	for pos := range n {
		if pos >= len(samples) {
			extra, _ := drawOther(t)
			payload = append(payload, extra...)
			continue
		}
		payload = append(payload, samples[pos].wire...)
		order = append(order, pos)
	}
	return payload, order
}

// libraryMap writes most of the samples in any order among unknown keys.
func libraryMap(t *rapid.T, b *binding, samples []sample) (payload []byte, order []int) {
	unknown := rapid.IntRange(0, 3).Draw(t, "unknown")
	all := make([]int, len(samples)+unknown)
	for i := range all {
		all[i] = i
	}
	if rapid.Bool().Draw(t, "shuffle") {
		all = rapid.Permutation(all).Draw(t, "order")
	}
	n := 0
	for _, pos := range all {
		optional := pos > posSeq && pos < len(samples)
		if optional && rapid.IntRange(0, 4).Draw(t, "drop") == 0 {
			continue
		}
		n++
		name := fmt.Sprintf("later_%d", pos)
		if pos < len(samples) {
			name = b.targets[pos].spec.name
			order = append(order, pos)
		}
		payload = append(payload, libraryBytes(t, func(e *msgpack.Encoder) error { return e.EncodeString(name) })...)
		if pos < len(samples) {
			payload = append(payload, samples[pos].wire...)
		} else {
			extra, _ := drawOther(t)
			payload = append(payload, extra...)
		}
	}
	return append(libraryBytes(t, func(e *msgpack.Encoder) error { return e.EncodeMapLen(n) }), payload...), order
}

// read returns the decoded value in the type of a sample, nil if it is absent.
func (t *target) read(pos int, has Presence) any {
	if pos >= bodyStart && !has.Has(1<<(pos-bodyStart)) {
		return nil
	}
	switch p := t.at.(type) {
	case *string:
		if *p == "" {
			return nil
		}
		return *p
	case *uint8:
		return t.spec.names[*p]
	case *float64:
		return *p
	case *bool:
		return *p
	}
	return t.int()
}
