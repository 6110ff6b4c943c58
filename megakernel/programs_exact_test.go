//go:build cgo && linux

package megakernel

import (
	"errors"
	"strings"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
)

func TestFusedKernelRunsUntilTheExactOneIsReadyAndAnExactOneStandsInForNone(t *testing.T) {
	dev := openDevice(t)
	gate := &gatedDevice{Device: openBeside(t, dev)}
	ps := newTestPrograms(t, dev, gate, ProgramsConfig{})
	narrow := kernel.Kernel{Kind: kernel.Interpreter, Width: 32}
	fused, _ := kernel.FusedKernel(policy.Geometry{Width: 32, Groups: 1, Chunk: 256}, kernel.NewOpcodeSet(kernel.OpStore, kernel.OpAdd))
	other, _ := kernel.FusedKernel(policy.Geometry{Width: 32, Groups: 1, Chunk: 256}, kernel.NewOpcodeSet(kernel.OpStore, kernel.OpAdd, kernel.OpLoad))
	ready := func(k kernel.Kernel) {
		t.Helper()
		p, err := ps.store.Wait(t.Context(), k)
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
	open := gate.close()
	given(fused.Exact(), narrow, fused)
	open()
	ready(fused.Exact())
	given(fused.Exact(), narrow, fused.Exact())
	open = gate.close()
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
	dev := openDevice(t)
	fused, _ := kernel.FusedKernel(policy.Geometry{Width: 32, Groups: 1, Chunk: 256}, kernel.NewOpcodeSet(kernel.OpStore))
	ps := newTestPrograms(t, exactRefused{dev}, nil, ProgramsConfig{})
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
