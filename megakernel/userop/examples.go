package userop

import "math"

// byteAt is the byte at a byte offset of the window.
func byteAt(s *Slot, offset uint32) uint32 { return s.Load(offset>>2) >> (8 * (offset & 3)) & 0xFF }

// histogram is the reference of docs/opcodes/histogram.glsl.
func histogram(s *Slot) {
	text, bytes, table := s.Args[0], s.Args[1], s.Args[2]
	for i := uint32(0); i < bytes && s.Step(); i++ {
		s.AtomicAdd(table+byteAt(s, text+i), 1)
	}
}

// matchBit marks a transition that counts as a match in the tables of dfa.
const matchBit = 1 << 31

// dfa is the reference of docs/opcodes/dfa.glsl.
func dfa(s *Slot) {
	text, bytes, table, begin, matches := s.Args[0], s.Args[1], s.Args[2], s.Args[3], s.Args[4]
	state := uint32(0)
	if text != begin {
		state = s.Load(table+byteAt(s, text-1)) &^ matchBit
	}
	found := uint32(0)
	for i := uint32(0); i < bytes && s.Step(); i++ {
		next := s.Load(table + state<<8 + byteAt(s, text+i))
		found += next >> 31
		state = next &^ matchBit
	}
	s.AtomicAdd(matches, found)
	s.Result(state)
}

// saxpy is the reference of docs/opcodes/saxpy.glsl. The conversion keeps the
// product from being fused with the sum, as precise does in the body.
func saxpy(s *Slot) {
	a, x, y, count := math.Float32frombits(s.Args[0]), s.Args[1], s.Args[2], s.Args[3]
	for i := uint32(0); i < count && s.Step(); i++ {
		product := float32(a * math.Float32frombits(s.Load(x+i)))
		sum := product + math.Float32frombits(s.Load(y+i))
		s.Store(y+i, math.Float32bits(sum))
	}
}
