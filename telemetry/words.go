package telemetry

import "encoding/binary"

// AppendWords appends the words that little-endian bytes hold. Bytes behind the
// last whole word are left out.
func AppendWords(dst []uint32, data []byte) []uint32 {
	for ; len(data) >= wordBytes; data = data[wordBytes:] {
		dst = append(dst, binary.LittleEndian.Uint32(data))
	}
	return dst
}

// AppendBytes appends words as little-endian bytes.
func AppendBytes(dst []byte, words []uint32) []byte {
	for _, w := range words {
		dst = binary.LittleEndian.AppendUint32(dst, w)
	}
	return dst
}
