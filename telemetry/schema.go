package telemetry

import "math"

// The schema of a kind is one row for every field of the wire, in array order, beside
// the Go struct that holds it. Keys, array positions, presence bits, ranges, merging,
// the encoder and the decoder all come from these rows, and a test holds the structs,
// the presence bits and the tables of docs/wire.md to them.

const (
	maxU32 = math.MaxUint32
	maxU64 = math.MaxUint64
	maxI64 = math.MaxInt64
	maxBps = 10_000
)

// fieldType is the wire type of a field.
type fieldType uint8

// The integer types come first: the decoder's fast path is for them.
const (
	typeU16 fieldType = iota
	typeU32
	typeU64
	typeI64
	typeF64
	typeBool
	typeEnum
	typeToken
	typeText
	typeBytes
	typeU32s
	typeGrid
	typeTexts
	typeReasons
	typeSlots
	typeFaults
	typeOpcodes
	typeRuns
	typeReserved
)

var typeNames = [...]string{
	typeU16: "u16", typeU32: "u32", typeU64: "u64", typeI64: "i64", typeF64: "f64",
	typeBool: "bool", typeEnum: "enum", typeToken: "token", typeText: "text", typeBytes: "bytes",
	typeU32s: "[]u32", typeGrid: "[3]u32", typeTexts: "[]text",
	typeReasons: "[]reason", typeSlots: "[]slot", typeFaults: "[]fault", typeOpcodes: "[]opcode",
	typeRuns: "[]run", typeReserved: "reserved",
}

func (t fieldType) String() string { return typeNames[t] }

// class says how the values of a field in successive records relate.
type class string

const (
	gauge   class = "gauge"   // holds until the next value
	counter class = "counter" // cumulative within an incarnation
	event   class = "event"   // belongs to this record only
)

// spec is what the wire knows of a field.
type spec struct {
	typ      fieldType
	required bool
	min, max uint64 // range of a number; bytes of a text; elements of a list
	name     string
	wireKey  string // name as msgpack, for comparing with the bytes of a map
	class    class
	unit     string   // "-" if the value has none
	names    []string // of an enum, index = code
}

func newSpec(name string, typ fieldType, c class, unit string, high uint64) spec {
	return spec{typ: typ, max: high, name: name, wireKey: wireKey(name), class: c, unit: unit}
}

// wireKey is the shortest msgpack string of a key, which is how encoders write it.
func wireKey(name string) string {
	if len(name) < 32 {
		return string([]byte{codeFixStr | byte(len(name))}) + name
	}
	return string([]byte{codeStr8, byte(len(name))}) + name
}

// field is one row of a schema: the wire's knowledge and the place in the Go
// struct. Exactly one accessor is set: that of typ for the integers, at for
// the rest, which returns a pointer of the type that typ implies.
type field[T any] struct {
	spec
	u16 func(*T) *uint16
	u32 func(*T) *uint32
	u64 func(*T) *uint64
	i64 func(*T) *int64
	at  func(*T) any
}

// req marks a field that must be present.
func (f field[T]) req() field[T] {
	f.required = true
	return f
}

// from raises the lower end of the range.
func (f field[T]) from(low uint64) field[T] {
	f.min = low
	return f
}

// to lowers the upper end of the range.
func (f field[T]) to(high uint64) field[T] {
	f.max = high
	return f
}

// schema is the list of a kind's body fields in array order, with what the
// decoder derives from it.
type schema[T any] struct {
	kind     Kind
	fields   []field[T]
	keys     map[string]int // array position by key, header included
	required uint64         // bit i: array position i must be present
	reserved uint64         // bit i: array position i had a field that is no more
	lasting  Presence       // the body's fields that are no events
	has      func(*T) *Presence
}

// newSchema derives the lookup tables. has is nil for the kinds that are
// always sent whole. It names headerFields itself, so that the compiler initializes
// them before any schema: a use inside a method of a generic type is not seen.
func newSchema[T any](kind Kind, has func(*T) *Presence, fields ...field[T]) *schema[T] {
	s := &schema[T]{kind: kind, fields: fields, has: has, keys: make(map[string]int)}
	add := func(pos int, f *spec) {
		if f.typ == typeReserved {
			s.reserved |= 1 << pos
			return
		}
		s.keys[f.name] = pos
		if f.required {
			s.required |= 1 << pos
		}
	}
	for pos := range headerFields {
		add(pos, &headerFields[pos].spec)
	}
	for i := range fields {
		add(bodyStart+i, &fields[i].spec)
		if fields[i].class != event {
			s.lasting |= 1 << i
		}
	}
	return s
}

// specAt returns the row at an array position.
func (s *schema[T]) specAt(pos int) *spec {
	if pos < bodyStart {
		return &headerFields[pos].spec
	}
	return &s.fields[pos-bodyStart].spec
}

// merge overwrites what newer carries and keeps the rest of dst. Events belong to newer
// alone and are left out; the other fields are numbers.
func merge[T any](s *schema[T], dst, newer *T) {
	all := *s.has(newer)
	has := all & s.lasting
	if has == s.lasting && all == has {
		*dst = *newer
		return
	}
	for i := range s.fields {
		if has.Has(1 << i) {
			s.fields[i].copy(dst, newer)
		}
	}
	*s.has(dst) |= has
}

func (f *field[T]) copy(dst, src *T) {
	switch f.typ {
	case typeU16:
		*f.u16(dst) = *f.u16(src)
	case typeU32:
		*f.u32(dst) = *f.u32(src)
	case typeU64:
		*f.u64(dst) = *f.u64(src)
	case typeF64:
		*f.at(dst).(*float64) = *f.at(src).(*float64)
	default:
		panic("telemetry: schema: field " + f.name + " cannot be merged")
	}
}

// The constructors of rows. Integers have typed accessors, which keep the hot
// path free of type switches; everything else goes through at.

func bps[T any](name string, c class, at func(*T) *uint16) field[T] {
	return field[T]{spec: newSpec(name, typeU16, c, "bps", maxBps), u16: at}
}

func u32[T any](name string, c class, unit string, at func(*T) *uint32) field[T] {
	return field[T]{spec: newSpec(name, typeU32, c, unit, maxU32), u32: at}
}

func u64[T any](name string, c class, unit string, at func(*T) *uint64) field[T] {
	return field[T]{spec: newSpec(name, typeU64, c, unit, maxU64), u64: at}
}

func i64[T any](name string, c class, unit string, at func(*T) *int64) field[T] {
	return field[T]{spec: newSpec(name, typeI64, c, unit, maxI64), i64: at}
}

func f64[T any](name string, c class, unit string, high uint64, at func(*T) any) field[T] {
	return field[T]{spec: newSpec(name, typeF64, c, unit, high), at: at}
}

func flag[T any](name string, c class, at func(*T) any) field[T] {
	return field[T]{spec: newSpec(name, typeBool, c, "-", 1), at: at}
}

func enum[T any](name string, c class, names []string, at func(*T) any) field[T] {
	f := field[T]{spec: newSpec(name, typeEnum, c, "-", uint64(len(names)-1)), at: at}
	f.names = names
	return f
}

func token[T any](name string, c class, at func(*T) any) field[T] {
	return field[T]{spec: newSpec(name, typeToken, c, "-", MaxToken), at: at}.from(1)
}

func text[T any](name string, c class, at func(*T) any) field[T] {
	return field[T]{spec: newSpec(name, typeText, c, "-", MaxText), at: at}
}

// reserved keeps the array position of a field that is no more: written as nil, and whatever
// an older sender has there is skipped. A map has no key for it; name is for people. The wire
// key is a byte that msgpack never uses.
func reserved[T any](name string) field[T] {
	return field[T]{spec: spec{typ: typeReserved, name: name, wireKey: "\xc1", class: event, unit: "-"}, at: func(*T) any { return nil }}
}

func list[T any](name string, c class, typ fieldType, unit string, low, high uint64, at func(*T) any) field[T] {
	return field[T]{spec: newSpec(name, typ, c, unit, high), at: at}.from(low)
}
