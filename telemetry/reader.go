package telemetry

import (
	"encoding/binary"
	"math"
)

// reader walks msgpack bytes. Every method checks its bounds, so it is safe on
// bytes that never went through Check; none allocates. On a refusal the
// position is where the refused value begins.
type reader struct {
	b []byte
	i int
}

// left is the number of bytes that have not been read.
func (r *reader) left() int { return len(r.b) - r.i }

// absent consumes a nil, if one is next: the wire form of a missing value.
func (r *reader) absent() bool {
	if r.i < len(r.b) && r.b[r.i] == codeNil {
		r.i++
		return true
	}
	return false
}

// accept steps over the given bytes if they are next.
func (r *reader) accept(wire string) bool {
	if r.left() >= len(wire) && string(r.b[r.i:r.i+len(wire)]) == wire {
		r.i += len(wire)
		return true
	}
	return false
}

// uint reads an integer of any msgpack width and sign that is not negative.
// A negative one is out of range, anything else than an integer, a float
// included, is of the wrong type.
func (r *reader) uint() (uint64, refusal) {
	if r.i >= len(r.b) {
		return 0, refuseMalformed
	}
	c := r.b[r.i]
	if c <= codePosFixMax {
		r.i++
		return uint64(c), accepted
	}
	b := r.b[r.i+1:]
	switch c {
	case codeUint8:
		if len(b) >= 1 {
			r.i += 2
			return uint64(b[0]), accepted
		}
	case codeUint16:
		if len(b) >= 2 {
			r.i += 3
			return uint64(binary.BigEndian.Uint16(b)), accepted
		}
	case codeUint32:
		if len(b) >= 4 {
			r.i += 5
			return uint64(binary.BigEndian.Uint32(b)), accepted
		}
	case codeUint64:
		if len(b) >= 8 {
			r.i += 9
			return binary.BigEndian.Uint64(b), accepted
		}
	case codeInt8, codeInt16, codeInt32, codeInt64:
		return r.signed(c, b)
	default:
		if c >= codeNegFixMin {
			return 0, refuseRange
		}
		return 0, refuseType
	}
	return 0, refuseMalformed
}

// signed reads a value that was written with a signed code. Some encoders use
// them for every integer.
func (r *reader) signed(c byte, b []byte) (uint64, refusal) {
	var v int64
	size := 1 << (c - codeInt8)
	if len(b) < size {
		return 0, refuseMalformed
	}
	switch c {
	case codeInt8:
		v = int64(int8(b[0]))
	case codeInt16:
		v = int64(int16(binary.BigEndian.Uint16(b)))
	case codeInt32:
		v = int64(int32(binary.BigEndian.Uint32(b)))
	default:
		v = int64(binary.BigEndian.Uint64(b))
	}
	if v < 0 {
		return 0, refuseRange
	}
	r.i += 1 + size
	return uint64(v), accepted
}

// float reads a float of either width, or an integer.
func (r *reader) float() (float64, refusal) {
	if r.i >= len(r.b) {
		return 0, refuseMalformed
	}
	b := r.b[r.i+1:]
	switch r.b[r.i] {
	case codeFloat32:
		if len(b) < 4 {
			return 0, refuseMalformed
		}
		r.i += 5
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b))), accepted
	case codeFloat64:
		if len(b) < 8 {
			return 0, refuseMalformed
		}
		r.i += 9
		return math.Float64frombits(binary.BigEndian.Uint64(b)), accepted
	}
	v, f := r.uint()
	return float64(v), f
}

// bool reads true or false; no integer stands for them.
func (r *reader) bool() (bool, refusal) {
	if r.i >= len(r.b) {
		return false, refuseMalformed
	}
	switch r.b[r.i] {
	case codeFalse, codeTrue:
		r.i++
		return r.b[r.i-1] == codeTrue, accepted
	}
	return false, refuseType
}

// str reads a string of at most limit bytes and returns a view of it.
func (r *reader) str(limit uint64) ([]byte, refusal) {
	if r.i >= len(r.b) {
		return nil, refuseMalformed
	}
	c := r.b[r.i]
	if c&0xe0 == codeFixStr {
		return r.view(1, uint64(c&0x1f), limit)
	}
	switch c {
	case codeStr8, codeStr16, codeStr32:
		return r.sized(1<<(c-codeStr8), limit)
	}
	return nil, refuseType
}

// bin reads a byte string of at most limit bytes and returns a view of it.
func (r *reader) bin(limit uint64) ([]byte, refusal) {
	if r.i >= len(r.b) {
		return nil, refuseMalformed
	}
	switch c := r.b[r.i]; c {
	case codeBin8, codeBin16, codeBin32:
		return r.sized(1<<(c-codeBin8), limit)
	}
	return nil, refuseType
}

// sized reads bytes whose length follows the code in width bytes.
func (r *reader) sized(width int, limit uint64) ([]byte, refusal) {
	n, ok := bigEndian(r.b[r.i+1:], width)
	if !ok {
		return nil, refuseMalformed
	}
	return r.view(1+width, n, limit)
}

// view returns the n bytes after a head of the given size and steps over both.
func (r *reader) view(head int, n, limit uint64) ([]byte, refusal) {
	if uint64(r.left()-head) < n {
		return nil, refuseMalformed
	}
	if n > limit {
		return nil, refuseRange
	}
	from := r.i + head
	r.i = from + int(n)
	return r.b[from:r.i:r.i], accepted
}

// array reads the head of an array. A count above the bytes that are left is
// a lie, because every element has at least one byte.
func (r *reader) array() (int, refusal) {
	if r.i >= len(r.b) {
		return 0, refuseMalformed
	}
	c := r.b[r.i]
	switch {
	case c&0xf0 == codeFixArray:
		return r.count(0, uint64(c&0x0f), 1)
	case c == codeArray16 || c == codeArray32:
		return r.wide(2<<(c-codeArray16), 1)
	}
	return 0, refuseType
}

// container reads the head of a map or an array: the two encodings of a record.
func (r *reader) container() (n int, isMap bool, f refusal) {
	if r.i >= len(r.b) {
		return 0, false, refuseMalformed
	}
	c := r.b[r.i]
	switch {
	case c&0xf0 == codeFixMap:
		n, f = r.count(0, uint64(c&0x0f), 2)
		return n, true, f
	case c == codeMap16 || c == codeMap32:
		n, f = r.wide(2<<(c-codeMap16), 2)
		return n, true, f
	}
	n, f = r.array()
	return n, false, f
}

func (r *reader) wide(width, each int) (int, refusal) {
	n, ok := bigEndian(r.b[r.i+1:], width)
	if !ok {
		return 0, refuseMalformed
	}
	return r.count(width, n, each)
}

// count steps over a head of 1+width bytes that announces n entries of at
// least each bytes.
func (r *reader) count(width int, n uint64, each int) (int, refusal) {
	if n > uint64((r.left()-1-width)/each) {
		return 0, refuseMalformed
	}
	r.i += 1 + width
	return int(n), accepted
}

// skip steps over one value of any shape, without recursion: it counts the
// values that still have to be read.
func (r *reader) skip() refusal {
	for pending := 1; pending > 0; pending-- {
		h, f := headAt(r.b, r.i)
		if f != accepted {
			return f
		}
		r.i += h.size
		pending += h.children
	}
	return accepted
}

// bigEndian reads an unsigned integer of 1, 2 or 4 bytes.
func bigEndian(b []byte, width int) (uint64, bool) {
	if len(b) < width {
		return 0, false
	}
	switch width {
	case 1:
		return uint64(b[0]), true
	case 2:
		return uint64(binary.BigEndian.Uint16(b)), true
	}
	return uint64(binary.BigEndian.Uint32(b)), true
}
