package kernel

import (
	"fmt"
	"math/bits"
	"ringmaster/megakernel/policy"
)

// OpcodeSet is a set of opcodes, one bit for each.
type OpcodeSet uint64

// NewOpcodeSet is the set of some opcodes below ring.OpcodeBins.
func NewOpcodeSet(opcodes ...Opcode) (s OpcodeSet) {
	for _, op := range opcodes {
		s |= 1 << op
	}
	return s
}

// Has reports whether the set has an opcode.
func (s OpcodeSet) Has(op Opcode) bool { return op < 64 && s>>op&1 != 0 }

// Len is the number of opcodes in the set.
func (s OpcodeSet) Len() int { return bits.OnesCount64(uint64(s)) }

// Opcodes are the opcodes of the set, ascending.
func (s OpcodeSet) Opcodes() []Opcode {
	list := make([]Opcode, 0, s.Len())
	for rest := uint64(s); rest != 0; rest &= rest - 1 {
		list = append(list, Opcode(bits.TrailingZeros64(rest)))
	}
	return list
}

// KernelKind says what a kernel is for.
type KernelKind uint8

// Kinds of kernels.
const (
	Interpreter KernelKind = iota // has the bodies of all opcodes
	Fused                         // has the bodies of its hot opcodes and leaves other slots on the cold list
	Lease                         // stays resident and takes slots from a mailbox
	Exact                         // a fused kernel without a cold list, for waves of its hot opcodes alone
)

func (k KernelKind) String() string {
	switch k {
	case Interpreter:
		return "interpreter"
	case Fused:
		return "fused"
	case Lease:
		return "lease"
	case Exact:
		return "exact"
	}
	return fmt.Sprintf("kernel(%d)", uint8(k))
}

// Kernel names a kernel of a catalog. It is comparable and, with the catalog,
// determines the source.
type Kernel struct {
	Kind  KernelKind
	Width uint32    // invocations per workgroup
	Chunk uint32    // Fused, Exact: positions of a chunk; else 0
	Hot   OpcodeSet // Fused, Exact: the opcodes it has bodies of; else 0, which is all
}

// MaxFusedRows is the most positions one invocation of a fused kernel takes
// of a chunk: it notes those it leaves in the bits of one word.
const MaxFusedRows = 32

// FusedKernel is the fused kernel for a geometry, or false if no such kernel
// can be made: without opcodes, or with a chunk of more than MaxFusedRows
// times the width.
func FusedKernel(g policy.Geometry, hot OpcodeSet) (Kernel, bool) {
	k := Kernel{Kind: Fused, Width: g.Width, Chunk: g.Chunk, Hot: hot}
	return k, hot != 0 && g.Width > 0 && g.Chunk > 0 && uint64(g.Chunk) <= uint64(g.Width)*MaxFusedRows
}

// Exact is a fused kernel's companion without a cold list, for waves that
// have slots of its hot opcodes alone.
func (k Kernel) Exact() Kernel {
	if k.Kind == Fused {
		k.Kind = Exact
	}
	return k
}

// General is the kernel that does the same and takes slots of any opcode: the
// fused one for an exact kernel, else itself.
func (k Kernel) General() Kernel {
	if k.Kind == Exact {
		k.Kind = Fused
	}
	return k
}

func (k Kernel) String() string {
	name := fmt.Sprintf("%s-%d", k.Kind, k.Width)
	if k.Kind == Fused || k.Kind == Exact {
		name += fmt.Sprintf("-%d-%x", k.Chunk, uint64(k.Hot))
	}
	return name
}
