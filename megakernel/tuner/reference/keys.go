package reference

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/zeebo/blake3"
)

// preimage gathers the bytes whose BLAKE3-256 is a key.
type preimage []byte

func (p preimage) text(s string) preimage { return append(p, s...) }

func (p preimage) words(words ...uint32) preimage {
	for _, w := range words {
		p = binary.LittleEndian.AppendUint32(p, w)
	}
	return p
}

func (p preimage) key(prefix string) string {
	sum := blake3.Sum256(p)
	return prefix + hex.EncodeToString(sum[:])
}

// FingerprintWords are a program's fingerprint as the original's back ends keep it in their caches: eight
// little-endian words (program_vsa_fingerprint). The ring's caches have keys of their own: it is here to be
// compared with.
func FingerprintWords(fingerprint [32]byte) (words [8]uint32) {
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(fingerprint[4*i:])
	}
	return words
}

// ProgramKey names a program with its sizes in the tuner's cache. groups is nil if
// their number was not fixed.
func ProgramKey(fingerprint [32]byte, workgroup Workgroup, groups *[3]uint32, outputBytes uint64) string {
	return programPreimage(fingerprint, workgroup, groups, outputBytes).key("v1-")
}

func programPreimage(fingerprint [32]byte, workgroup Workgroup, groups *[3]uint32, outputBytes uint64) preimage {
	p := preimage("vyre-driver-workgroup-tuner-v1\x00program\x00")
	p = append(p, fingerprint[:]...)
	p = p.text("\x00workgroup-size\x00").words(workgroup[:]...).text("\x00workgroup-count\x00")
	if groups == nil {
		p = append(p, 0)
	} else {
		p = append(p, 1).words(groups[:]...)
	}
	return binary.LittleEndian.AppendUint64(p.text("\x00output-bytes\x00"), outputBytes)
}

// LaunchKey names what was launched, on how many elements and under which
// limits, in the persistent feedback.
func LaunchKey(fingerprint [32]byte, declared Workgroup, elements uint32, l Limits) string {
	return launchPreimage(fingerprint, declared, elements, l).key("launch-v1-")
}

func launchPreimage(fingerprint [32]byte, declared Workgroup, elements uint32, l Limits) preimage {
	p := preimage("vyre-natural-launch-feedback-v1\x00")
	p = append(p, fingerprint[:]...)
	return p.words(declared[:]...).words(elements).limits(l)
}

// AdapterKey names the feedback file of a backend and its limits. Neither the
// device's name nor its driver's version is part of it.
func AdapterKey(backend string, l Limits) string {
	return adapterPreimage(backend, l).key("natural-launch-feedback-v1-")
}

func adapterPreimage(backend string, l Limits) preimage {
	return preimage("vyre-natural-launch-adapter-v1\x00").text(backend).limits(l)
}

func (p preimage) limits(l Limits) preimage {
	return p.words(l.MaxThreads).words(l.MaxBlock[:]...).words(l.MaxGrid[:]...)
}
