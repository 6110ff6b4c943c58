package telemetry

import "encoding/binary"

// simpleCheck is the structure check as the format's specification tells it:
// recursive, one value at a time, with nothing shared with Check.
func simpleCheck(payload []byte, limits CheckLimits) (records int, ok bool) {
	s := simple{limits: limits}
	if len(payload) == 0 || len(payload) > limits.MaxBytes {
		return 0, false
	}
	for len(payload) > 0 {
		c := payload[0]
		container := c >= 0x80 && c <= 0x9f || c >= 0xdc && c <= 0xdf
		if records++; records > limits.MaxRecords || !container || !s.value(&payload, 1) {
			return 0, false
		}
	}
	return records, true
}

type simple struct {
	limits CheckLimits
	items  int
}

// value takes one value from the front of b.
func (s *simple) value(b *[]byte, depth int) bool {
	if s.items++; s.items > s.limits.MaxItems || len(*b) == 0 {
		return false
	}
	c := (*b)[0]
	*b = (*b)[1:]
	switch {
	case c <= 0x7f, c >= 0xe0, c == 0xc0, c == 0xc2, c == 0xc3:
		return true
	case c <= 0x8f:
		return s.children(b, 2*uint64(c&0x0f), depth)
	case c <= 0x9f:
		return s.children(b, uint64(c&0x0f), depth)
	case c <= 0xbf:
		return s.bytes(b, uint64(c&0x1f))
	case c >= 0xc4 && c <= 0xc6:
		n, ok := s.size(b, 1<<(c-0xc4))
		return ok && s.bytes(b, n)
	case c == 0xca, c == 0xcb:
		return s.skip(b, 4<<(c-0xca))
	case c >= 0xcc && c <= 0xcf:
		return s.skip(b, 1<<(c-0xcc))
	case c >= 0xd0 && c <= 0xd3:
		return s.skip(b, 1<<(c-0xd0))
	case c >= 0xd9 && c <= 0xdb:
		n, ok := s.size(b, 1<<(c-0xd9))
		return ok && s.bytes(b, n)
	case c == 0xdc, c == 0xdd:
		n, ok := s.size(b, 2<<(c-0xdc))
		return ok && s.children(b, n, depth)
	case c == 0xde, c == 0xdf:
		n, ok := s.size(b, 2<<(c-0xde))
		return ok && s.children(b, 2*n, depth)
	}
	return false // extensions, and the code that is never used
}

func (s *simple) children(b *[]byte, n uint64, depth int) bool {
	if depth > min(s.limits.MaxDepth, 8) {
		return false
	}
	for ; n > 0; n-- {
		if !s.value(b, depth+1) {
			return false
		}
	}
	return true
}

func (s *simple) bytes(b *[]byte, n uint64) bool {
	return n <= uint64(s.limits.MaxString) && s.skip(b, n)
}

func (s *simple) skip(b *[]byte, n uint64) bool {
	if n > uint64(len(*b)) {
		return false
	}
	*b = (*b)[n:]
	return true
}

func (s *simple) size(b *[]byte, width int) (uint64, bool) {
	if len(*b) < width {
		return 0, false
	}
	var full [8]byte
	copy(full[8-width:], *b)
	*b = (*b)[width:]
	return binary.BigEndian.Uint64(full[:]), true
}
