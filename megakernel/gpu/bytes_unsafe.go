package gpu

import "unsafe"

// LittleEndian reports whether the host stores words the way devices read them, which
// Bytes depends on.
func LittleEndian() bool {
	one := uint32(1)
	return *(*byte)(unsafe.Pointer(&one)) == 1
}

// BytesAt is Bytes of one value.
func BytesAt[T any](v *T) []byte { return Bytes(unsafe.Slice(v, 1)) }

// Bytes is the memory of s, for transfers to and from the device without a copy. It is
// valid as long as s is. T is made of words and has neither pointers nor padding.
func Bytes[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}
