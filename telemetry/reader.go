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
// included, is of the wrong type. Some encoders use signed codes for every integer.
func (r *reader) uint() (uint64, refusal) {
	if r.i >= len(r.b) {
		return 0, refuseMalformed
	}
	c := r.b[r.i]
	switch {
	case c <= codePosFixMax:
		r.i++
		return uint64(c), accepted
	case c >= codeNegFixMin:
		return 0, refuseRange
	case c < codeUint8 || c > codeInt64:
		return 0, refuseType
	}
	width := 1 << ((c - codeUint8) & 3) // the four unsigned codes, then the four signed ones
	v, ok := bigEndian(r.b[r.i+1:], width)
	if !ok {
		return 0, refuseMalformed
	}
	if c >= codeInt8 && v>>(8*width-1) != 0 {
		return 0, refuseRange
	}
	r.i += 1 + width
	return v, accepted
}

// float reads a float of either width, or an integer.
func (r *reader) float() (float64, refusal) {
	if r.i >= len(r.b) {
		return 0, refuseMalformed
	}
	c := r.b[r.i]
	if c != codeFloat32 && c != codeFloat64 {
		v, f := r.uint()
		return float64(v), f
	}
	width := 4 << (c - codeFloat32)
	bits, ok := bigEndian(r.b[r.i+1:], width)
	if !ok {
		return 0, refuseMalformed
	}
	r.i += 1 + width
	if c == codeFloat32 {
		return float64(math.Float32frombits(uint32(bits))), accepted
	}
	return math.Float64frombits(bits), accepted
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

// bigEndian reads an unsigned integer of 1, 2, 4 or 8 bytes.
func bigEndian(b []byte, width int) (uint64, bool) {
	if len(b) < width {
		return 0, false
	}
	switch width {
	case 1:
		return uint64(b[0]), true
	case 2:
		return uint64(binary.BigEndian.Uint16(b)), true
	case 4:
		return uint64(binary.BigEndian.Uint32(b)), true
	}
	return binary.BigEndian.Uint64(b), true
}
