package kernel

import "testing"

func TestIdentityIsTheSameAtEveryGeometryAndOnlyThere(t *testing.T) {
	n := NewIdentities(nil)
	hot := NewOpcodeSet(OpAdd, OpStore)
	interpreter, fused := n.Of(Kernel{Kind: Interpreter, Width: 64}), n.Of(Kernel{Kind: Fused, Width: 32, Chunk: 128, Hot: hot})
	for _, width := range []uint32{32, 128, 1024} {
		if n.Of(Kernel{Kind: Interpreter, Width: width}) != interpreter {
			t.Errorf("the interpreter has another identity %d wide", width)
		}
		if n.Of(Kernel{Kind: Fused, Width: width, Chunk: 4 * width, Hot: hot}) != fused {
			t.Errorf("the fused kernel has another identity %d wide", width)
		}
	}
	if interpreter == fused || n.Of(Kernel{Kind: Fused, Width: 32, Chunk: 128, Hot: NewOpcodeSet(OpAdd)}) == fused {
		t.Error("different programs have one identity")
	}
}

func TestKernelNamesAreRead(t *testing.T) {
	for _, k := range []Kernel{
		{Kind: Interpreter, Width: 64}, {Kind: Lease, Width: 256},
		{Kind: Fused, Width: 32, Chunk: 128, Hot: NewOpcodeSet(OpAdd, OpStore)},
	} {
		if got, ok := ParseKernel(k.String()); !ok || got != k {
			t.Errorf("%s is read as %+v, %v", k, got, ok)
		}
	}
	for _, name := range []string{"", "interpreter", "interpreter-", "interpreter-64-2", "interpreter-0x40", "fused-1-2", "fused-1-2-xyz", "lease-64-e", "fused-01-2-3", "other-64"} {
		if k, ok := ParseKernel(name); ok {
			t.Errorf("%q is read as %+v", name, k)
		}
	}
}
