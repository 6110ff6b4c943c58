package telemetry

// fieldType is the wire type of a field.
type fieldType uint8

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
)

var typeNames = [...]string{
	typeU16: "u16", typeU32: "u32", typeU64: "u64", typeI64: "i64", typeF64: "f64",
	typeBool: "bool", typeEnum: "enum", typeToken: "token", typeText: "text", typeBytes: "bytes",
	typeU32s: "[]u32", typeGrid: "[3]u32", typeTexts: "[]text",
	typeReasons: "[]reason", typeSlots: "[]slot", typeFaults: "[]fault",
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
	name     string
	typ      fieldType
	class    class
	unit     string   // "-" if the value has none
	min, max uint64   // range of a number; bytes of a text; elements of a list
	names    []string // of an enum, index = code
	required bool
}

// field is one row of a schema: the wire's knowledge and the place in the Go
// struct. at returns a pointer to the field, of the type that typ implies.
type field[T any] struct {
	spec
	at func(*T) any
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
	required uint64         // bit i: body field i must be present
	has      func(*T) *Presence
}

func newSchema[T any](kind Kind, has func(*T) *Presence, fields ...field[T]) *schema[T] {
	s := &schema[T]{kind: kind, fields: fields, has: has, keys: make(map[string]int)}
	for i := range headerFields {
		s.keys[headerFields[i].name] = i
	}
	for i := range fields {
		s.keys[fields[i].name] = bodyStart + i
		if fields[i].required {
			s.required |= 1 << i
		}
	}
	return s
}

// name returns the key at an array position.
func (s *schema[T]) name(pos int) string {
	if pos < bodyStart {
		return headerFields[pos].name
	}
	return s.fields[pos-bodyStart].name
}
