package disk

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/zeebo/blake3"
)

// ErrDamaged says that a file is there and is not what was stored: cut short,
// changed, renamed, of another version, or larger than the cap. Removing it is right.
var ErrDamaged = errors.New("program binary is damaged")

// Name identifies a program binary. As a file it is written in hexadecimal.
type Name [32]byte

func (n Name) String() string { return hex.EncodeToString(n[:]) }

// NameOf is the name of the binary that a driver makes of a source. Each part
// goes into the hash with its length before it, so that no two lists of parts
// give the same bytes.
func NameOf(vendor, renderer, version, source string) Name {
	h := blake3.NewDeriveKey("ringmaster 2026-11 program binary: name")
	for _, part := range [...]string{vendor, renderer, version, source} {
		var length [8]byte
		binary.LittleEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.WriteString(part)
	}
	var name Name
	h.Sum(name[:0])
	return name
}

// Binary is a linked program in the driver's own form.
type Binary struct {
	Format uint32 // the driver's name for the form, given back to it with the data
	Data   []byte
}

// The header's layout; see the package comment.
const (
	magic         = "RMPROG\r\n"
	layoutVersion = 1

	atVersion  = 8
	atFormat   = 12
	atName     = 16
	atLength   = 48
	atChecksum = 56
	headerSize = 88
)

// encode is a whole file.
func encode(name Name, b Binary) []byte {
	file := make([]byte, headerSize, headerSize+len(b.Data))
	copy(file, magic)
	binary.LittleEndian.PutUint32(file[atVersion:], layoutVersion)
	binary.LittleEndian.PutUint32(file[atFormat:], b.Format)
	copy(file[atName:], name[:])
	binary.LittleEndian.PutUint64(file[atLength:], uint64(len(b.Data)))
	sum := checksum(file[:atChecksum], b.Data)
	copy(file[atChecksum:], sum[:])
	return append(file, b.Data...)
}

// decode checks a whole file; the result shares its memory.
func decode(name Name, file []byte) (Binary, error) {
	if len(file) < headerSize {
		return Binary{}, fmt.Errorf("%w: %d bytes, the header alone has %d", ErrDamaged, len(file), headerSize)
	}
	header, payload := file[:headerSize], file[headerSize:]
	if string(header[:len(magic)]) != magic {
		return Binary{}, fmt.Errorf("%w: not a program binary of this runtime", ErrDamaged)
	}
	if v := binary.LittleEndian.Uint32(header[atVersion:]); v != layoutVersion {
		return Binary{}, fmt.Errorf("%w: version %d, want %d", ErrDamaged, v, layoutVersion)
	}
	if Name(header[atName:atLength]) != name {
		return Binary{}, fmt.Errorf("%w: it was stored under another name", ErrDamaged)
	}
	if n := binary.LittleEndian.Uint64(header[atLength:]); n != uint64(len(payload)) {
		return Binary{}, fmt.Errorf("%w: payload of %d bytes, %d were stored", ErrDamaged, len(payload), n)
	}
	if Name(header[atChecksum:headerSize]) != checksum(header[:atChecksum], payload) {
		return Binary{}, fmt.Errorf("%w: wrong checksum", ErrDamaged)
	}
	return Binary{Format: binary.LittleEndian.Uint32(header[atFormat:]), Data: payload}, nil
}

func checksum(header, payload []byte) (sum Name) {
	h := blake3.NewDeriveKey("ringmaster 2026-11 program binary: content")
	h.Write(header)
	h.Write(payload)
	h.Sum(sum[:0])
	return sum
}
