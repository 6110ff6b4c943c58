package telemetry

import (
	"math/bits"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
)

// Encoding is how a record is written: as a msgpack map or as an array. Every reader takes both.
type Encoding uint8

// Encodings of a record.
const (
	EncodingMap   Encoding = iota // snake_case keys, absent fields left out, enumerations by name
	EncodingArray                 // schema order, nil for an absent field, enumerations by code
)

// Append appends a record to dst and returns it. The kind is that of the body, whatever the
// header says. Of a body with presence bits it writes the fields whose bit is set, of any other
// all. It cuts texts and lists to their bounds and checks nothing else: a value out of range
// is refused by the receiver.
func Append(dst []byte, e Encoding, h Header, b Body) []byte {
	return b.rows().append(dst, e, h, b)
}

// encoder is a msgpack encoder that appends to a slice. Its writer is the
// encoder itself and never fails, which is why errors of the library's
// methods, all of them errors of the writer, are dropped below.
type encoder struct {
	*msgpack.Encoder
	out    []byte
	header Header
}

func (e *encoder) Write(p []byte) (int, error) {
	e.out = append(e.out, p...)
	return len(p), nil
}

func (e *encoder) WriteByte(c byte) error {
	e.out = append(e.out, c)
	return nil
}

// headerMask has the bits of all header positions.
const headerMask = 1<<bodyStart - 1

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.Encoder = msgpack.NewEncoder(e)
	return e
}}

func (s *schema[T]) append(dst []byte, encoding Encoding, h Header, b Body) []byte {
	body := b.(any).(*T)
	e := encoders.Get().(*encoder)
	e.out, e.header = dst, h
	e.header.Kind = s.kind
	have := uint64(1)<<len(s.fields) - 1
	if s.has != nil {
		have &= uint64(*s.has(body))
	}
	have = (have<<bodyStart | headerMask) &^ s.reserved
	if h.Queue == "" {
		have &^= 1 << posQueue
	}
	if encoding == EncodingArray {
		n := bits.Len64(have)
		_ = e.EncodeArrayLen(n)
		for pos := range n {
			if have&(1<<pos) == 0 {
				_ = e.EncodeNil()
				continue
			}
			encodeAt(e, encoding, s, body, pos)
		}
	} else {
		_ = e.EncodeMapLen(bits.OnesCount64(have))
		for ; have != 0; have &= have - 1 {
			pos := firstBit(have)
			_ = e.EncodeString(s.specAt(pos).name)
			encodeAt(e, encoding, s, body, pos)
		}
	}
	out := e.out
	e.out, e.header = nil, Header{}
	encoders.Put(e)
	return out
}

func encodeAt[T any](e *encoder, encoding Encoding, s *schema[T], body *T, pos int) {
	if pos < bodyStart {
		headerFields[pos].encode(e, encoding, &e.header)
	} else {
		s.fields[pos-bodyStart].encode(e, encoding, body)
	}
}

// encode writes the value of one field.
func (f *field[T]) encode(e *encoder, encoding Encoding, body *T) {
	switch f.typ {
	case typeU32:
		_ = e.EncodeUint(uint64(*f.u32(body)))
	case typeU64:
		_ = e.EncodeUint(*f.u64(body))
	case typeU16:
		_ = e.EncodeUint(uint64(*f.u16(body)))
	case typeI64:
		_ = e.EncodeInt(*f.i64(body))
	default:
		encodeValue(e, encoding, &f.spec, f.at(body))
	}
}

// encodeValue writes the value that p points to; see decodeValue.
func encodeValue(e *encoder, encoding Encoding, s *spec, p any) {
	switch p := p.(type) {
	case *uint8:
		if encoding == EncodingMap && int(*p) < len(s.names) {
			_ = e.EncodeString(s.names[*p])
		} else {
			_ = e.EncodeUint(uint64(*p))
		}
	case *bool:
		_ = e.EncodeBool(*p)
	case *float64:
		_ = e.EncodeFloat64(*p)
	case *string:
		_ = e.EncodeString(cut(*p, int(s.max)))
	case *[]byte:
		_ = e.EncodeBytesLen(len(*p))
		_, _ = e.Write(*p)
	default:
		encodeList(e, s, p)
	}
}

func encodeList(e *encoder, s *spec, p any) {
	switch p := p.(type) {
	case *[]uint32:
		e.words(*p)
	case *[3]uint32:
		e.words(p[:])
	case *[]string:
		_ = e.EncodeArrayLen(len(*p))
		for _, v := range *p {
			_ = e.EncodeString(cut(v, MaxToken))
		}
	case *[]Slot:
		_ = e.EncodeArrayLen(len(*p))
		for i := range *p {
			e.slot(&(*p)[i])
		}
	case *[]Run:
		_ = e.EncodeArrayLen(len(*p))
		for i := range *p {
			e.run(&(*p)[i])
		}
	case *[]Fault:
		faults := (*p)[:min(len(*p), MaxFaults)]
		_ = e.EncodeArrayLen(len(faults))
		for i := range faults {
			e.words([]uint32{faults[i].Index, faults[i].Code})
		}
	case *[]Opcode:
		opcodes := (*p)[:min(len(*p), MaxUserOpcodes)]
		_ = e.EncodeArrayLen(len(opcodes))
		for i := range opcodes {
			_ = e.EncodeArrayLen(2)
			_ = e.EncodeUint(uint64(opcodes[i].ID))
			_ = e.EncodeString(cut(opcodes[i].Name, MaxToken))
		}
	case *[]Reason:
		reasons := (*p)[:min(len(*p), MaxReasons)]
		_ = e.EncodeArrayLen(len(reasons))
		for i := range reasons {
			e.reason(&reasons[i])
		}
	default:
		panic("telemetry: schema: field " + s.name + " has no encoder")
	}
}

func (e *encoder) words(values []uint32) {
	_ = e.EncodeArrayLen(len(values))
	for _, v := range values {
		_ = e.EncodeUint(uint64(v))
	}
}

// slot leaves out the arguments behind the last that is not zero: those left out are zero.
func (e *encoder) slot(s *Slot) {
	n := MaxSlotArgs
	for n > 0 && s.Args[n-1] == 0 {
		n--
	}
	_ = e.EncodeArrayLen(2 + n)
	_ = e.EncodeUint(uint64(s.Opcode))
	_ = e.EncodeUint(uint64(s.Priority))
	for _, v := range s.Args[:n] {
		_ = e.EncodeUint(uint64(v))
	}
}

func (e *encoder) reason(r *Reason) {
	_ = e.EncodeArrayLen(5)
	_ = e.EncodeString(cut(r.Rule, MaxToken))
	_ = e.EncodeUint(r.Threshold)
	_ = e.EncodeUint(r.Value)
	_ = e.EncodeUint(r.Distance)
	_ = e.EncodeBool(r.Held)
}

// cut makes a string fit to be sent: valid UTF-8, at most limit bytes, and no
// character cut in two. Driver messages are the reason: they promise neither.
func cut(s string, limit int) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
