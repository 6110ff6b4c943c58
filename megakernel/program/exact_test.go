//go:build cgo && linux

package program

import (
	"errors"
	"strings"
	"testing"

	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel/faultgl"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
)

func TestFusedKernelRunsUntilTheExactOneIsReadyAndAnExactOneStandsInForNone(t *testing.T) {
	dev := gltest.Open(t)
	gate := &faultgl.Gate{Device: gltest.Beside(t, dev)}
	ps := newSet(t, dev, gate, Config{})
	narrow := kernel.Kernel{Kind: kernel.Interpreter, Width: 32}
	fused, _ := kernel.FusedKernel(policy.Geometry{Width: 32, Groups: 1, Chunk: 256}, kernel.NewOpcodeSet(kernel.OpStore, kernel.OpAdd))
	other, _ := kernel.FusedKernel(policy.Geometry{Width: 32, Groups: 1, Chunk: 256}, kernel.NewOpcodeSet(kernel.OpStore, kernel.OpAdd, kernel.OpLoad))
	ready := func(k kernel.Kernel) {
		t.Helper()
		p, err := ps.store.Wait(t.Context(), ps.key(k))
		if err != nil {
			t.Fatal(err)
		}
		ps.store.Release(p)
	}
	given := func(want, before, expected kernel.Kernel) {
		t.Helper()
		p := pick(t, ps, want, before)
		if p.Kernel != expected || (p.Reason == "") != (want == expected) {
			t.Errorf("want %s after %s: got %s, %q", want, before, p.Kernel, p.Reason)
		}
		ps.Release(&p)
	}
	ready(narrow)
	ready(fused)
	open := gate.Close()
	given(fused.Exact(), narrow, fused)
	open()
	ready(fused.Exact())
	given(fused.Exact(), narrow, fused.Exact())
	open = gate.Close()
	given(other, fused.Exact(), fused) // never the exact one: the wave has slots it cannot run
	given(other.Exact(), fused.Exact(), fused)
	open()
	ready(other)
	ready(other.Exact()) // asked for by what was picked
}

// exactRefused is a driver that cannot compile exact kernels.
type exactRefused struct{ gpu.Device }

func (d exactRefused) CompileCompute(source string) (gpu.Program, error) {
	if strings.Contains(source, "#define CHUNK") && !strings.Contains(source, "#define FUSED") {
		return gpu.Program{}, errors.New("too many registers")
	}
	return d.Device.CompileCompute(source)
}

func TestFusedKernelStandsInForAnExactOneThatCannotBeBuilt(t *testing.T) {
	dev := gltest.Open(t)
	fused, _ := kernel.FusedKernel(policy.Geometry{Width: 32, Groups: 1, Chunk: 256}, kernel.NewOpcodeSet(kernel.OpStore))
	ps := newSet(t, exactRefused{dev}, nil, Config{})
	interpreter := pick(t, ps, kernel.Kernel{Kind: kernel.Interpreter, Width: 32}, kernel.Kernel{}) // one more that could
	ps.Release(&interpreter)
	for range 3 {
		p := pick(t, ps, fused.Exact(), kernel.Kernel{})
		if p.Kernel != fused || !strings.Contains(p.Reason, "cannot be built") {
			t.Errorf("%+v", p)
		}
		ps.Release(&p)
	}
}
