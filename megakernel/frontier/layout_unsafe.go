package frontier

import "unsafe"

// Sizes and byte offsets of what host and device share.
const (
	controlBytes = int(unsafe.Sizeof(controlBlock{}))
	roundBytes   = int(unsafe.Sizeof(roundWords{}))
	totalsBytes  = int(unsafe.Sizeof(totalsBlock{}))
	recordBytes  = int(unsafe.Sizeof(levelRecord{}))

	atPushGroups = int(unsafe.Offsetof(controlBlock{}.job) + unsafe.Offsetof(jobWords{}.pushGroups))
	atRounds     = int(unsafe.Offsetof(controlBlock{}.rounds))
	atDecided    = int(unsafe.Offsetof(roundWords{}.decided))
	atLogged     = int(unsafe.Offsetof(roundWords{}.logged))
	atReached    = int(unsafe.Offsetof(totalsBlock{}.reached))
)

// words are values that consist of words only.
type words interface {
	uint32 | controlBlock | roundWords | totalsBlock | levelRecord
}

// bytesOf is the memory of words, for transfers without a copy. It is valid as long as the words are.
func bytesOf[T words](of []T) []byte {
	if len(of) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&of[0])), len(of)*int(unsafe.Sizeof(of[0])))
}

// bytesAt is bytesOf for one value.
func bytesAt[T words](of *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(of)), unsafe.Sizeof(*of))
}
