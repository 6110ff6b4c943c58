package fpm

import (
	"encoding/binary"
	"errors"
	"math"
)

var (
	errShort   = errors.New("it ends early")
	errType    = errors.New("a value is of another type")
	errRange   = errors.New("a number is negative, not finite or too large")
	errNesting = errors.New("it is nested too deep")
)

// maxSkipDepth bounds the nesting of values that are not known.
const maxSkipDepth = 4

// reader walks msgpack bytes.
type reader struct{ b []byte }

func (r *reader) byte() (byte, error) {
	if len(r.b) == 0 {
		return 0, errShort
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c, nil
}

// number reads a big-endian number of 1, 2, 4 or 8 bytes.
func (r *reader) number(width int) (uint64, error) {
	if len(r.b) < width {
		return 0, errShort
	}
	var full [8]byte
	copy(full[8-width:], r.b[:width])
	r.b = r.b[width:]
	return binary.BigEndian.Uint64(full[:]), nil
}

// take reads so many bytes, which stay part of the message.
func (r *reader) take(n uint64) ([]byte, error) {
	if n > uint64(len(r.b)) {
		return nil, errShort
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out, nil
}

// mapLen reads the head of a map.
func (r *reader) mapLen() (uint64, error) {
	c, err := r.byte()
	switch {
	case err != nil:
		return 0, err
	case c&0xf0 == 0x80:
		return uint64(c & 0x0f), nil
	case c == 0xde, c == 0xdf:
		return r.number(2 << (c - 0xde))
	}
	return 0, errType
}

// text reads a string.
func (r *reader) text() ([]byte, error) {
	c, err := r.byte()
	switch {
	case err != nil:
		return nil, err
	case c&0xe0 == 0xa0:
		return r.take(uint64(c & 0x1f))
	case c >= 0xd9 && c <= 0xdb:
		n, err := r.number(1 << (c - 0xd9))
		if err != nil {
			return nil, err
		}
		return r.take(n)
	}
	return nil, errType
}

// uint reads an integer that is not negative.
func (r *reader) uint() (uint64, error) {
	c, err := r.byte()
	switch {
	case err != nil:
		return 0, err
	case c <= 0x7f:
		return uint64(c), nil
	case c >= 0xe0:
		return 0, errRange
	case c < 0xcc || c > 0xd3:
		return 0, errType
	}
	width := 1 << ((c - 0xcc) & 3) // four unsigned codes, then the four signed ones
	v, err := r.number(width)
	if err == nil && c >= 0xd0 && v>>(8*width-1) != 0 {
		return 0, errRange
	}
	return v, err
}

// seconds reads a number that is finite and not negative.
func (r *reader) seconds() (float64, error) {
	if len(r.b) == 0 {
		return 0, errShort
	}
	var v float64
	switch r.b[0] {
	case 0xca:
		r.b = r.b[1:]
		n, err := r.number(4)
		if err != nil {
			return 0, err
		}
		v = float64(math.Float32frombits(uint32(n)))
	case 0xcb:
		r.b = r.b[1:]
		n, err := r.number(8)
		if err != nil {
			return 0, err
		}
		v = math.Float64frombits(n)
	default:
		n, err := r.uint()
		return float64(n), err
	}
	if !(v >= 0) || math.IsInf(v, 1) {
		return 0, errRange
	}
	return v, nil
}

// skip steps over a value of any type.
func (r *reader) skip(depth int) error {
	if depth > maxSkipDepth {
		return errNesting
	}
	c, err := r.byte()
	if err != nil {
		return err
	}
	values := uint64(0) // inside
	switch {
	case c <= 0x7f, c >= 0xe0, c == 0xc0, c == 0xc2, c == 0xc3:
	case c&0xf0 == 0x80:
		values = 2 * uint64(c&0x0f)
	case c&0xf0 == 0x90:
		values = uint64(c & 0x0f)
	case c&0xe0 == 0xa0:
		_, err = r.take(uint64(c & 0x1f))
	case c >= 0xc4 && c <= 0xc6: // bytes
		err = r.skipSized(1 << (c - 0xc4))
	case c >= 0xd9 && c <= 0xdb: // text
		err = r.skipSized(1 << (c - 0xd9))
	case c == 0xca, c == 0xcb: // floats
		_, err = r.number(4 << (c - 0xca))
	case c >= 0xcc && c <= 0xd3: // integers
		_, err = r.number(1 << ((c - 0xcc) & 3))
	case c == 0xdc, c == 0xdd:
		values, err = r.number(2 << (c - 0xdc))
	case c == 0xde, c == 0xdf:
		values, err = r.number(2 << (c - 0xde))
		values *= 2
	default: // extensions are in no version of the format
		return errType
	}
	for ; values > 0 && err == nil; values-- {
		err = r.skip(depth + 1) // a value has a byte at least: the bytes bound a count that lies
	}
	return err
}

// skipSized steps over a size of so many bytes and what it counts.
func (r *reader) skipSized(width int) error {
	n, err := r.number(width)
	if err == nil {
		_, err = r.take(n)
	}
	return err
}
