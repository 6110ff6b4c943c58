package telemetry

import (
	"encoding/binary"
	"fmt"
)

// HeapOp is what a heap request does.
type HeapOp uint8

// Operations on a window.
const (
	HeapRead  HeapOp = iota // answer Count words from Offset on
	HeapWrite               // store Data from Offset on
)

var heapOpNames = []string{HeapRead: "read", HeapWrite: "write"}

// String returns the wire name of the operation.
func (o HeapOp) String() string { return nameOf(heapOpNames, uint8(o), "op") }

// Heap asks for a transfer from or to the queue's window, and answers it. The
// answer repeats operation, offset and the words moved; that of a read has
// them in Data.
type Heap struct {
	Op     HeapOp
	Offset uint32 // first word in the window
	Count  uint32 // words to read, or that were moved
	Data   []byte // little-endian words, at most MaxHeapWords of them
	Epoch  uint64 // in an answer, the heap's; 0 in a request
}

var heapSchema = newSchema(KindHeap, nil,
	enum("op", event, heapOpNames, func(h *Heap) any { return (*uint8)(&h.Op) }).req(),
	u32("offset", event, "words", func(h *Heap) *uint32 { return &h.Offset }),
	u32("count", event, "words", func(h *Heap) *uint32 { return &h.Count }).to(MaxHeapWords),
	list[Heap]("data", event, typeBytes, "-", 0, MaxHeapWords*wordBytes, func(h *Heap) any { return &h.Data }),
	u64("epoch", event, "-", func(h *Heap) *uint64 { return &h.Epoch }),
)

// validate: data is whole words.
func (h *Heap) validate() error {
	if n := len(h.Data); n%wordBytes != 0 {
		return fmt.Errorf("data has %d bytes, want whole words of %d", n, wordBytes)
	}
	return nil
}

func (b *Heap) rows() rows { return heapSchema }

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
