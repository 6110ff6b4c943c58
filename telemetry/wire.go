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
	codeExt8      = 0xc7
	codeExt32     = 0xc9
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
	codeFixExt1   = 0xd4
	codeFixExt16  = 0xd8
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

// headAt reads the head of the value at b[i]. It refuses a value that does not
// fit in the bytes, a container that announces more values than bytes are
// left, and extension types.
func headAt(b []byte, i int) (head, refusal) {
	if i >= len(b) {
		return head{}, refuseMalformed
	}
	c := b[i]
	left := len(b) - i
	switch {
	case c <= codePosFixMax || c >= codeNegFixMin:
		return head{size: 1}, accepted
	case c < codeFixArray:
		return containerHead(1, 2*uint64(c&0x0f), left)
	case c < codeFixStr:
		return containerHead(1, uint64(c&0x0f), left)
	case c < codeNil:
		return stringHead(1, uint64(c&0x1f), left)
	}
	switch c {
	case codeNil, codeFalse, codeTrue:
		return head{size: 1}, accepted
	case codeUint8, codeInt8:
		return scalarHead(2, left)
	case codeUint16, codeInt16:
		return scalarHead(3, left)
	case codeUint32, codeInt32, codeFloat32:
		return scalarHead(5, left)
	case codeUint64, codeInt64, codeFloat64:
		return scalarHead(9, left)
	case codeNever:
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

func scalarHead(size, left int) (head, refusal) {
	if left < size {
		return head{}, refuseMalformed
	}
	return head{size: size}, accepted
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
