package telemetry

import (
	"reflect"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"
)

// drawRecord draws a valid record of any kind, by the schema.
func drawRecord(t *rapid.T) *Record {
	r := new(Record)
	kind := Kind(rapid.IntRange(int(KindQueue), int(lastKind)).Draw(t, "kind"))
	r.Kind = kind
	b := bind(r)
	var have uint64
	for pos := range b.targets {
		target := &b.targets[pos]
		optional := !target.spec.required && (pos == posQueue || pos >= bodyStart && b.has != nil)
		if target.typ == typeReserved || optional && rapid.Bool().Draw(t, "absent") {
			continue
		}
		have |= 1 << pos
		drawValue(t, target)
	}
	r.Kind = kind
	if b.has != nil {
		*b.has = Presence(have >> bodyStart)
	}
	// The rules of Validate.
	if r.Graph.Has.Has(HasNodeCount | HasFrontierNodes) {
		r.Graph.FrontierNodes = min(r.Graph.FrontierNodes, r.Graph.NodeCount)
	}
	if r.Launch.Status == LaunchOK {
		r.Launch.Error = ""
	}
	if r.Kind == KindWork && r.Work.Count() == 0 {
		r.Work.Has |= HasSlots
		r.Work.Slots = []Slot{{Opcode: 1}}
	}
	r.Done.Faulted = max(r.Done.Faulted, uint32(len(r.Done.Faults)))
	if r.Done.Prints = r.Done.Prints[:len(r.Done.Prints)/PrintWords*PrintWords]; len(r.Done.Prints) == 0 {
		r.Done.Prints = nil
	}
	r.Done.Printed = max(r.Done.Printed, uint32(len(r.Done.Prints)/PrintWords))
	return r
}

func drawValue(t *rapid.T, target *target) {
	s := target.spec
	length := func() int { return rapid.IntRange(int(s.min), int(min(s.max, 70))).Draw(t, s.name) }
	text := func(limit int) string {
		return strings.ToValidUTF8(rapid.StringN(-1, -1, limit).Draw(t, s.name), "")
	}
	word := rapid.Uint32()
	switch p := target.at.(type) {
	case nil:
		target.setInt(rapid.Uint64Range(s.min, s.max).Draw(t, s.name))
	case *uint8:
		*p = rapid.Uint8Range(uint8(s.min), uint8(s.max)).Draw(t, s.name)
	case *bool:
		*p = rapid.Bool().Draw(t, s.name)
	case *float64:
		*p = rapid.Float64Range(0, float64(s.max)).Draw(t, s.name)
	case *string:
		if s.typ == typeToken {
			*p = rapid.StringMatching(`[A-Za-z0-9-][A-Za-z0-9_-]{0,63}`).Draw(t, s.name)
		} else {
			*p = text(int(s.max))
		}
	case *[]byte:
		if rapid.Bool().Draw(t, s.name) {
			*p = rapid.SliceOfN(rapid.Byte(), FingerprintSize, FingerprintSize).Draw(t, s.name)
		}
	case *[]uint32:
		for range length() {
			*p = append(*p, word.Draw(t, s.name))
		}
	case *[3]uint32:
		*p = [3]uint32{word.Draw(t, s.name), word.Draw(t, s.name), word.Draw(t, s.name)}
	case *[]string:
		for range length() {
			*p = append(*p, text(MaxToken))
		}
	case *[]Fault:
		for range length() {
			*p = append(*p, Fault{word.Draw(t, s.name), word.Draw(t, s.name)})
		}
	case *[]Opcode:
		for range length() {
			*p = append(*p, Opcode{word.Draw(t, s.name), text(MaxToken)})
		}
	case *[]Reason:
		u := rapid.Uint64()
		for range length() {
			*p = append(*p, Reason{text(MaxToken), u.Draw(t, s.name), u.Draw(t, s.name), u.Draw(t, s.name), rapid.Bool().Draw(t, s.name)})
		}
	case *[]Slot:
		for range length() {
			slot := Slot{Opcode: word.Draw(t, s.name), Priority: rapid.Uint32Range(0, MaxPriority).Draw(t, s.name)}
			for i := range rapid.IntRange(0, MaxSlotArgs).Draw(t, s.name) {
				slot.Args[i] = word.Draw(t, s.name)
			}
			*p = append(*p, slot)
		}
	case *[]Run:
		for range length() {
			run := Run{Opcode: word.Draw(t, s.name), Priority: rapid.Uint32Range(0, MaxPriority).Draw(t, s.name)}
			run.Count = rapid.Uint32Range(1, 70).Draw(t, s.name)
			run.NArgs = rapid.IntRange(0, MaxSlotArgs).Draw(t, s.name)
			for i := range run.NArgs {
				run.Args[i].Value = word.Draw(t, s.name)
				if rapid.Bool().Draw(t, s.name) {
					run.Args[i] = Words(rapid.SliceOfN(word, int(run.Count), int(run.Count)).Draw(t, s.name))
				}
			}
			*p = append(*p, run)
		}
	default:
		t.Fatalf("no generator for %s", s.name)
	}
}

// What an older sender has where a field was is skipped, whatever it is.
func TestReservedPositionsAreSkipped(t *testing.T) {
	want := Record{Header: literalHeader(KindRecommendation), Recommendation: Recommendation{Decision: 1, LaunchMode: "wave", WorkerGroups: 3, InFlight: 2}}
	whole := Append(nil, EncodingArray, want.Header, want.Body())
	for _, old := range []any{uint64(1) << 40, "balanced", true, nil, []any{1, []any{"x"}}, map[string]any{"a": 1}} {
		var elements []any
		must(t, msgpack.Unmarshal(whole, &elements))
		var fields map[string]any
		must(t, msgpack.Unmarshal(Append(nil, EncodingMap, want.Header, want.Body()), &fields))
		reserved := 0
		for pos := range bind(&Record{Header: Header{Kind: KindRecommendation}}).targets {
			if s := recommendationSchema.specAt(pos); s.typ == typeReserved {
				reserved++
				elements[pos], fields[s.name] = old, old
			}
		}
		if reserved != 7 {
			t.Fatalf("%d reserved positions, want 7", reserved)
		}
		for _, form := range []any{elements, fields} {
			payload, err := msgpack.Marshal(form)
			must(t, err)
			if got, err := decodeOne(payload, DefaultTelemetryLimits); err != nil || !reflect.DeepEqual(got, &want) {
				t.Errorf("with %v: %v\n got %+v\nwant %+v", old, err, got, &want)
			}
		}
	}
}

func TestEveryValidRecordSurvivesBothForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawRecord(t)
		for _, f := range []Encoding{EncodingMap, EncodingArray} {
			got, err := decodeOne(Append(nil, f, want.Header, want.Body()), DefaultWorkLimits)
			if err != nil {
				t.Fatalf("encoding %d: %v", f, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("encoding %d:\n got %+v\nwant %+v", f, got, want)
			}
		}
	})
}

// TestLibraryReadsWhatTheEncoderWrites holds the encoder to another reader of
// the format: same keys, same values, nothing after the record.
func TestLibraryReadsWhatTheEncoderWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t)
		var asMap map[string]any
		must(t, msgpack.Unmarshal(Append(nil, EncodingMap, r.Header, r.Body()), &asMap))
		var asArray []any
		must(t, msgpack.Unmarshal(Append(nil, EncodingArray, r.Header, r.Body()), &asArray))
		b := bind(r)
		present := 0
		for pos := range b.targets {
			s := b.targets[pos].spec
			value, ok := asMap[s.name]
			var element any
			if pos < len(asArray) {
				element = asArray[pos]
			}
			if !ok {
				if element != nil {
					t.Fatalf("%s is absent in the map and %v in the array", s.name, element)
				}
				continue
			}
			present++
			if s.typ == typeEnum { // by name in a map, by code in an array
				if want := value.(string); s.names[asUint(t, element)] != want {
					t.Fatalf("%s: array has code %v, map has %q", s.name, element, want)
				}
				continue
			}
			if !reflect.DeepEqual(value, element) {
				t.Fatalf("%s: map has %v, array has %v", s.name, value, element)
			}
			if s.typ <= typeI64 && asUint(t, value) != b.targets[pos].int() {
				t.Fatalf("%s: library reads %v, the record has %d", s.name, value, b.targets[pos].int())
			}
		}
		if present != len(asMap) {
			t.Fatalf("the map has %d keys, %d of the schema", len(asMap), present)
		}
	})
}

// int reads an integer field.
func (t *target) int() uint64 {
	switch t.typ {
	case typeU16:
		return uint64(*t.u16)
	case typeU32:
		return uint64(*t.u32)
	case typeU64:
		return *t.u64
	}
	return uint64(*t.i64)
}

// asUint is the value of any integer the library returns.
func asUint(t *rapid.T, v any) uint64 {
	switch rv := reflect.ValueOf(v); {
	case rv.CanUint():
		return rv.Uint()
	case rv.CanInt() && rv.Int() >= 0:
		return uint64(rv.Int())
	}
	t.Fatalf("%v is not an unsigned integer", v)
	return 0
}
