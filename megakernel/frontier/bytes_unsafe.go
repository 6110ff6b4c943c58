package frontier

import "unsafe"

// bytesOf is the memory of words, for transfers without a copy. It is valid as long
// as the words are.
func bytesOf(words []uint32) []byte {
	if len(words) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 4*len(words))
}
