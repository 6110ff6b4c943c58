package kernel

// Examples are kernels of the built-in opcodes, one of each kind and, where software
// renderers have a kernel of their own, theirs. Their sources are committed in generated.
func Examples() []Kernel {
	hot := NewOpcodeSet(OpStore, OpAdd, OpLoad)
	return []Kernel{
		{Kind: Interpreter, Width: 64},
		{Kind: Fused, Width: 64, Chunk: 256, Hot: hot},
		{Kind: Exact, Width: 64, Chunk: 256, Hot: hot},
		{Kind: Lease, Width: LeaseWidth},
		{Kind: Lease, Width: LeaseWidthSoftware},
	}
}
