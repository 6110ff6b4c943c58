package telemetry

import (
	"crypto/rand"
	"encoding/binary"
)

// NewIncarnation draws the number that names one run of a publisher. It is
// random, so that two runs never share counters or message ids by accident and
// nobody can claim another publisher's ids ahead of it; it is never zero.
func NewIncarnation() uint64 {
	var b [8]byte
	for {
		rand.Read(b[:]) // never fails: crypto/rand ends the process instead
		if n := binary.BigEndian.Uint64(b[:]); n != 0 {
			return n
		}
	}
}
