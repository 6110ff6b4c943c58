package telemetry

import (
	"crypto/rand"
	"encoding/binary"
)

// Kind names the schema of a record.
type Kind uint8

// The kinds of record, in the order of their wire codes. KindInvalid is never sent.
const (
	KindInvalid Kind = iota
	KindQueue
	KindGraph
	KindPriority
	KindLaunch
	KindWorker
	KindRecommendation
	KindWork
	KindDone
	KindRejected
	KindHeap
	KindGraphRequest
	KindCancel

	lastKind = KindCancel
)

var kindNames = []string{
	KindInvalid: "", KindQueue: "queue", KindGraph: "graph", KindPriority: "priority", KindLaunch: "launch",
	KindWorker: "worker", KindRecommendation: "recommendation", KindWork: "work", KindDone: "done", KindRejected: "rejected",
	KindHeap: "heap", KindGraphRequest: "graph_request", KindCancel: "cancel",
}

// String returns the wire name of the kind.
func (k Kind) String() string { return nameOf(kindNames, uint8(k), "kind") }

// Presence has one bit for each field of a record's body, bit i for the
// field with the i-th body position in the schema. A field that is absent on
// the wire has its bit clear and its Go value zero; a measured zero has its bit set.
type Presence uint64

// Has reports whether every field of want is present.
func (p Presence) Has(want Presence) bool { return p&want == want }

// Header is what every record carries.
type Header struct {
	Kind        Kind
	Minor       uint32 // schema minor version of the sender
	Incarnation uint64 // random, drawn once per publisher start
	Seq         uint64 // counts up from 1 within an incarnation, for each subject
	SentNs      int64  // sender's clock, Unix nanoseconds
	Queue       string // optional; required where the subject's queue token is _batch
}

// Minor is the schema minor version that this package writes.
const Minor uint32 = 1

// Array positions of the header. The body follows at bodyStart.
const (
	posKind = iota
	posMinor
	posIncarnation
	posSeq
	posSentNs
	posQueue
	bodyStart
)

// headerFields are the rows of the header, with which every schema begins.
var headerFields = []field[Header]{
	posKind:        enum("kind", event, kindNames, func(h *Header) any { return (*uint8)(&h.Kind) }).from(1).req(),
	posMinor:       u32("minor", event, "-", func(h *Header) *uint32 { return &h.Minor }),
	posIncarnation: u64("incarnation", event, "-", func(h *Header) *uint64 { return &h.Incarnation }).from(1).req(),
	posSeq:         u64("seq", event, "records", func(h *Header) *uint64 { return &h.Seq }).from(1).req(),
	posSentNs:      i64("sent_ns", event, "ns", func(h *Header) *int64 { return &h.SentNs }),
	posQueue:       token("queue", event, func(h *Header) any { return &h.Queue }),
}

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
