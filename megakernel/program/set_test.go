//go:build cgo && linux

package program

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel/faultgl"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/kernelcache/disk"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/userop"
)

func newSet(t testing.TB, main, build gpu.Device, cfg Config) *Set {
	t.Helper()
	if cfg.Kept == 0 {
		cfg.Kept = 8
	}
	ps := Open(main, build, cfg)
	t.Cleanup(ps.Close)
	return ps
}

func pick(t testing.TB, ps *Set, want, before kernel.Kernel) Picked {
	t.Helper()
	p, err := ps.Pick(want, before)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestKernelThatRanBeforeRunsUntilTheWantedOneIsReady(t *testing.T) {
	dev := gltest.Open(t)
	gate := &faultgl.Gate{Device: gltest.Beside(t, dev)}
	ps := newSet(t, dev, gate, Config{})
	narrow, wide := kernel.Kernel{Kind: kernel.Interpreter, Width: 32}, kernel.Kernel{Kind: kernel.Interpreter, Width: 64}
	fused, _ := kernel.FusedKernel(policy.Geometry{Width: 32, Groups: 1, Chunk: 256}, kernel.NewOpcodeSet(kernel.OpStore, kernel.OpAdd))

	first := pick(t, ps, narrow, kernel.Kernel{})
	if first.Kernel != narrow || first.Reason != "" {
		t.Fatalf("the first: %+v", first)
	}
	ps.Release(&first)
	for _, want := range []kernel.Kernel{wide, fused} {
		open := gate.Close()
		for range 20 {
			p := pick(t, ps, want, narrow)
			if p.Kernel != narrow || !strings.Contains(p.Reason, want.String()) || !strings.Contains(p.Reason, "being built") {
				t.Fatalf("while %s is built: %+v", want, p)
			}
			ps.Release(&p)
		}
		open()
		p, err := ps.store.Wait(t.Context(), ps.key(want))
		if err != nil {
			t.Fatal(err)
		}
		ps.store.Release(p)
		applied := pick(t, ps, want, narrow)
		if applied.Kernel != want || applied.Reason != "" || applied.Program.Width != want.Width {
			t.Errorf("after %s was built: %+v", want, applied)
		}
		ps.Release(&applied)
	}
}

// fusionRefused is a driver that cannot compile fused kernels.
type fusionRefused struct{ gpu.Device }

func (d fusionRefused) CompileCompute(source string) (gpu.Program, error) {
	if strings.Contains(source, "#define FUSED") {
		return gpu.Program{}, errors.New("too many registers")
	}
	return d.Device.CompileCompute(source)
}

func TestInterpreterStandsInForAKernelThatCannotBeBuilt(t *testing.T) {
	dev := gltest.Open(t)
	fused, _ := kernel.FusedKernel(policy.Geometry{Width: 32, Groups: 1, Chunk: 256}, kernel.NewOpcodeSet(kernel.OpStore))
	for name, build := range map[string]gpu.Device{"background": fusionRefused{gltest.Beside(t, dev)}, "launch": nil} {
		t.Run(name, func(t *testing.T) {
			var main gpu.Device = dev
			if build == nil {
				main = fusionRefused{dev}
			}
			ps := newSet(t, main, build, Config{})
			p := pick(t, ps, fused, kernel.Kernel{})
			if p.Kernel != (kernel.Kernel{Kind: kernel.Interpreter, Width: 32}) || !strings.Contains(p.Reason, "cannot be built") {
				t.Errorf("%+v", p)
			}
			ps.Release(&p)
			p = pick(t, ps, fused, kernel.Kernel{})
			if p.Kernel.Kind != kernel.Interpreter || !strings.Contains(p.Reason, "cannot be built") {
				t.Errorf("again: %+v", p)
			}
			ps.Release(&p)
			if st := ps.store.Stats(); st.Failed != 1 || ps.store.Failing(ps.key(fused)) == nil {
				t.Errorf("%+v, %v: want one try", st, ps.store.Failing(ps.key(fused)))
			}
		})
	}
}

func TestWithoutASecondContextALaunchGetsWhatItWants(t *testing.T) {
	dev := gltest.Open(t)
	ps := newSet(t, dev, nil, Config{})
	for _, width := range []uint32{32, 64, 32} {
		want := kernel.Kernel{Kind: kernel.Interpreter, Width: width}
		p := pick(t, ps, want, kernel.Kernel{Kind: kernel.Interpreter, Width: 32})
		if p.Kernel != want || p.Reason != "" {
			t.Errorf("%+v", p)
		}
		ps.Release(&p)
	}
	ps.Prefetch(kernel.Kernel{Kind: kernel.Interpreter, Width: 128})
	if st := ps.store.Stats(); st.Built != 2 || st.Waiting != 0 {
		t.Errorf("%+v", st)
	}
}

func TestSecondStartCompilesNothing(t *testing.T) {
	dev := gltest.Open(t)
	beside := gltest.Beside(t, dev)
	if !beside.Supports("program-binary") {
		t.Fatal("the driver has no program binaries; on Mesa, its shader cache has to be writable")
	}
	dir, err := disk.Open(filepath.Join(t.TempDir(), "programs"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	fused, _ := kernel.FusedKernel(policy.Geometry{Width: 32, Groups: 1, Chunk: 256}, kernel.NewOpcodeSet(kernel.OpStore, kernel.OpCopy))
	kernels := []kernel.Kernel{{Kind: kernel.Interpreter, Width: 32}, {Kind: kernel.Interpreter, Width: 64}, fused}
	for i, want := range []struct{ built, loaded uint64 }{{3, 0}, {0, 3}} {
		ps := newSet(t, dev, beside, Config{Disk: dir})
		ps.Prefetch(kernels...)
		for _, k := range kernels {
			p, err := ps.store.Wait(t.Context(), ps.key(k))
			if err != nil {
				t.Fatal(err)
			}
			if p.Fingerprint != kernel.Fingerprint(kernel.BuiltIn().Source(k)) {
				t.Errorf("%s: the fingerprint is not the source's", k)
			}
			ps.store.Release(p)
		}
		if st := ps.store.Stats(); st.Built != want.built || st.Loaded != want.loaded || st.Refused != 0 {
			t.Errorf("start %d: %+v, want %+v", i, st, want)
		}
		ps.Close()
	}
}

// TestCompileErrorNamesTheOperatorsFile: an opcode that passes the checker and not
// the driver.
func TestCompileErrorNamesTheOperatorsFile(t *testing.T) {
	ops, err := userop.LoadDir(fstest.MapFS{"twice.glsl": {Data: []byte("//! id: 20\n//! name: twice\n//! operands: from\n" +
		"//! side-effects: no\n//! idempotent: yes\n\nuint value = vec2(load(from), 1.0);\nresult(value);\n")}})
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := kernel.NewCatalog(ops)
	if err != nil {
		t.Fatal(err)
	}
	ps := newSet(t, gltest.Open(t), nil, Config{Catalog: catalog})
	_, err = ps.Pick(kernel.Kernel{Kind: kernel.Interpreter, Width: 32}, kernel.Kernel{})
	if err == nil || !strings.Contains(err.Error(), "twice.glsl:7") {
		t.Errorf("%v, want it to name twice.glsl:7", err)
	}
}

func TestProgramsLeaveNothingOnTheDevice(t *testing.T) {
	dev := gltest.Open(t)
	live := func() (buffers, programs int) { return dev.Live() }
	buffers, programs := live()
	ps := Open(dev, gltest.Beside(t, dev), Config{Kept: 2})
	for _, width := range []uint32{32, 64, 128} {
		p, err := ps.store.Wait(t.Context(), ps.key(kernel.Kernel{Kind: kernel.Interpreter, Width: width}))
		if err != nil {
			t.Fatal(err)
		}
		ps.store.Release(p)
	}
	ps.Close()
	if b, p := live(); b != buffers || p != programs {
		t.Errorf("%d buffers and %d programs, before %d and %d", b, p, buffers, programs)
	}
}
