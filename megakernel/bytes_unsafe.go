package megakernel

import (
	"unsafe"

	"ringmaster/ring"
)

// littleEndian reports whether the host stores words the way the device reads
// them, which bytesOf depends on.
func littleEndian() bool {
	one := uint32(1)
	return *(*byte)(unsafe.Pointer(&one)) == 1
}

// bytesOf is the memory of s, for transfers to and from the device without a
// copy. It is valid as long as s is.
func bytesOf[T ~uint32 | ring.Slot | ring.Control | leaseRecord | leaseOutcome](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}
