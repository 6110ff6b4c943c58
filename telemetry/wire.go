package telemetry

// The msgpack codes, as in the specification of the format.
const (
	codePosFixMax = 0x7f
	codeFixMap    = 0x80
	codeFixArray  = 0x90
	codeFixStr    = 0xa0
	codeNil       = 0xc0
	codeNever     = 0xc1
	codeFalse     = 0xc2
	codeTrue      = 0xc3
	codeBin8      = 0xc4
	codeBin16     = 0xc5
	codeBin32     = 0xc6
	codeFloat32   = 0xca
	codeFloat64   = 0xcb
	codeUint8     = 0xcc
	codeUint16    = 0xcd
	codeUint32    = 0xce
	codeUint64    = 0xcf
	codeInt8      = 0xd0
	codeInt16     = 0xd1
	codeInt32     = 0xd2
	codeInt64     = 0xd3
	codeStr8      = 0xd9
	codeStr16     = 0xda
	codeStr32     = 0xdb
	codeArray16   = 0xdc
	codeArray32   = 0xdd
	codeMap16     = 0xde
	codeMap32     = 0xdf
	codeNegFixMin = 0xe0
)

// head describes one value without looking into it.
type head struct {
	size      int  // bytes of the value itself; for a container of its head only
	length    int  // bytes of a string or byte string
	children  int  // values inside a container; a map has two an entry
	container bool // map or array
}

// scalarSize is the size of a scalar by its code, 0 for every other code.
var scalarSize = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c <= codePosFixMax || c >= codeNegFixMin:
			t[c] = 1
		case c == codeNil || c == codeFalse || c == codeTrue:
			t[c] = 1
		case c == codeFloat32 || c == codeFloat64:
			t[c] = 1 + 4<<(c-codeFloat32)
		case c >= codeUint8 && c <= codeUint64:
			t[c] = 1 + 1<<(c-codeUint8)
		case c >= codeInt8 && c <= codeInt64:
			t[c] = 1 + 1<<(c-codeInt8)
		}
	}
	return t
}()

// headAt reads the head of the value at b[i]. It refuses a value that does not
// fit in the bytes, a container that announces more values than bytes are
// left, and extension types.
func headAt(b []byte, i int) (head, refusal) {
	if i >= len(b) {
		return head{}, refuseMalformed
	}
	c := b[i]
	left := len(b) - i
	if size := int(scalarSize[c]); size != 0 {
		if left < size {
			return head{}, refuseMalformed
		}
		return head{size: size}, accepted
	}
	switch {
	case c < codeFixArray:
		return containerHead(1, 2*uint64(c&0x0f), left)
	case c < codeFixStr:
		return containerHead(1, uint64(c&0x0f), left)
	case c < codeNil:
		return stringHead(1, uint64(c&0x1f), left)
	case c == codeNever:
		return head{}, refuseMalformed
	}
	width := 0
	switch c {
	case codeStr8, codeBin8:
		width = 1
	case codeStr16, codeBin16, codeArray16, codeMap16:
		width = 2
	case codeStr32, codeBin32, codeArray32, codeMap32:
		width = 4
	default:
		return head{}, refuseExtension
	}
	n, ok := bigEndian(b[i+1:], width)
	if !ok {
		return head{}, refuseMalformed
	}
	switch {
	case c >= codeMap16:
		return containerHead(1+width, 2*n, left)
	case c >= codeArray16:
		return containerHead(1+width, n, left)
	}
	return stringHead(1+width, n, left)
}

func stringHead(size int, n uint64, left int) (head, refusal) {
	if uint64(left-size) < n {
		return head{}, refuseMalformed
	}
	return head{size: size + int(n), length: int(n)}, accepted
}

func containerHead(size int, children uint64, left int) (head, refusal) {
	if uint64(left-size) < children {
		return head{}, refuseMalformed
	}
	return head{size: size, children: int(children), container: true}, accepted
}
