package telemetry

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
)

func firstBit(mask uint64) int { return bits.TrailingZeros64(mask) }

// describe turns a failure into the error that callers see. It looks at the
// refused value again, where the reader stopped, so that the hot path carries
// no text.
func (d *Decoder) describe(index int, bad *failure) error {
	e := &RecordError{Index: index, Kind: bad.kind, Reason: bad.code.reason(), Err: bad.cause}
	inside := d.inside
	d.inside = nil
	if bad.spec == nil {
		if e.Err == nil {
			e.Err = fmt.Errorf("at byte %d", d.r.i)
		}
		return e
	}
	e.Field = bad.spec.name
	want := bad.spec.wanted()
	switch {
	case bad.code == refuseMissing:
		e.Err = errors.New("want " + want)
	case bad.code == refuseDuplicate:
		e.Err = errors.New("want the key once")
	case inside != nil:
		e.Err = inside
	default:
		e.Err = fmt.Errorf("got %s, want %s", d.r.describe(), want)
	}
	return e
}

// describe names the type of the next value, and its value if it is a number.
func (r *reader) describe() string {
	h, code := headAt(r.b, r.i)
	if code != accepted {
		return "bytes that end early"
	}
	at := *r
	c := r.b[r.i]
	switch {
	case h.container:
		if _, isMap, _ := at.container(); isMap {
			return fmt.Sprintf("a map of %d", h.children/2)
		}
		return fmt.Sprintf("an array of %d", h.children)
	case c == codeNil:
		return "nil"
	case c == codeFalse || c == codeTrue:
		return "a bool"
	case c == codeFloat32 || c == codeFloat64:
		v, _ := at.float()
		return fmt.Sprintf("the float %g", v)
	case c&0xe0 == codeFixStr || c >= codeStr8 && c <= codeStr32:
		return fmt.Sprintf("a string of %d bytes", h.length)
	case c >= codeBin8 && c <= codeBin32:
		return fmt.Sprintf("%d bytes", h.length)
	}
	if v, code := at.uint(); code == accepted {
		return fmt.Sprintf("the integer %d", v)
	}
	return "a negative integer"
}

// wanted describes the values that a field takes.
func (s *spec) wanted() string {
	w := s.typ.String() + " " + s.rangeText()
	if s.unit != "-" {
		w += " " + s.unit
	}
	return w
}

// rangeText renders the range of a field as docs/wire.md shows it.
func (s *spec) rangeText() string {
	switch s.typ {
	case typeBool:
		return "true|false"
	case typeReserved:
		return "-"
	case typeEnum:
		return strings.Join(s.names[s.min:], "|")
	case typeGrid:
		return "3"
	case typeToken, typeText, typeBytes:
		return fmt.Sprintf("%d..%d bytes", s.min, s.max)
	}
	return fmt.Sprintf("%d..%s", s.min, limitText(s.max))
}

func limitText(v uint64) string {
	switch v {
	case maxU64:
		return "2^64-1"
	case maxI64:
		return "2^63-1"
	case maxU32:
		return "2^32-1"
	}
	return fmt.Sprint(v)
}
