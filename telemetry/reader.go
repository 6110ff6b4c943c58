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
	if c := r.b[r.i]; c&0xe0 != codeFixStr && (c < codeStr8 || c > codeStr32) {
		return nil, refuseType
	}
	return r.view(limit)
}

// bin reads a byte string of at most limit bytes and returns a view of it.
func (r *reader) bin(limit uint64) ([]byte, refusal) {
	if r.i >= len(r.b) {
		return nil, refuseMalformed
	}
	if c := r.b[r.i]; c < codeBin8 || c > codeBin32 {
		return nil, refuseType
	}
	return r.view(limit)
}

// view steps over a string or byte string and returns its bytes.
func (r *reader) view(limit uint64) ([]byte, refusal) {
	h, f := headAt(r.b, r.i)
	if f != accepted {
		return nil, f
	}
	if uint64(h.length) > limit {
		return nil, refuseRange
	}
	r.i += h.size
	return r.b[r.i-h.length : r.i : r.i], accepted
}

// array reads the head of an array.
func (r *reader) array() (int, refusal) {
	if r.i < len(r.b) && r.b[r.i]&0xf0 == codeFixArray && int(r.b[r.i]&0x0f) < r.left() {
		r.i++
		return int(r.b[r.i-1] & 0x0f), accepted // as nearly all are: a slot, a fault, a reason
	}
	at := r.i
	n, isMap, f := r.container()
	if isMap {
		r.i, n, f = at, 0, refuseType
	}
	return n, f
}

// container reads the head of a map or an array: the two encodings of a record.
func (r *reader) container() (n int, isMap bool, f refusal) {
	h, f := headAt(r.b, r.i)
	switch {
	case f != accepted && f != refuseExtension:
		return 0, false, f
	case !h.container:
		return 0, false, refuseType
	}
	c := r.b[r.i]
	r.i += h.size
	if c&0xf0 == codeFixMap || c >= codeMap16 {
		return h.children / 2, true, accepted
	}
	return h.children, false, accepted
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
