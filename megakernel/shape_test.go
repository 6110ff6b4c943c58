//go:build cgo && linux

package megakernel

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringmaster/glcompute"
	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel/faultgl"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/kernelcache/disk"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

// gated makes engines build beside their device, through a gate.
func gated(t *testing.T, gate *faultgl.Gate) func(*Config) {
	return func(c *Config) {
		c.Beside = func(dev gpu.Device) (gpu.Device, error) {
			gate.Device = gltest.Beside(t, dev.(*glcompute.Device))
			return gate, nil
		}
	}
}

// built waits until a kernel is ready.
func built(t *testing.T, e *Engine, k kernel.Kernel) {
	t.Helper()
	p, err := e.exec.programs.Hold(k)
	if err != nil {
		t.Fatal(err)
	}
	e.exec.programs.Release(&p)
}

func TestLaunchesGoOnAtTheOldWidthWhileANewOneIsBuilt(t *testing.T) {
	gate := &faultgl.Gate{}
	e := newEngine(t, openDevice(t), gated(t, gate))
	run := func(g policy.Geometry) Report {
		submit(t, e, "q", Batch{ID: "b", Slots: slices.Repeat([]ring.Slot{slot(kernel.OpAdd, 0, 1, 0)}, 1000)})
		r := launch(t, e, Order{Queue: "q", Geometry: g})
		if r.Executed != 1000 || r.Recommended != g {
			t.Fatalf("report %+v", r)
		}
		return r
	}
	before, after := policy.Geometry{Width: 32, Groups: 2, Chunk: 128}, policy.Geometry{Width: 64, Groups: 4, Chunk: 256}
	if r := run(before); r.Applied != before || r.NotApplied != "" {
		t.Fatalf("the first launch: %+v", r)
	}
	open := gate.Close()
	for range 30 {
		r := run(after)
		if r.Applied != before || r.Kernel != (kernel.Kernel{Kind: kernel.Interpreter, Width: 32}) || r.Wanted.Width != 64 ||
			!strings.Contains(r.NotApplied, "interpreter-64: still being built") {
			t.Fatalf("while it is built: %+v", r)
		}
	}
	open()
	built(t, e, kernel.Kernel{Kind: kernel.Interpreter, Width: 64})
	if r := run(after); r.Applied != after || r.NotApplied != "" || r.Kernel != r.Wanted || r.Fingerprint != kernel.Fingerprint(kernel.BuiltIn().Source(kernel.Kernel{Kind: kernel.Interpreter, Width: 64})) {
		t.Errorf("when it is built: %+v", r)
	}
	sum := make([]uint32, 1)
	if err := e.Read("q", 0, sum); err != nil || sum[0] != 32*1000 {
		t.Errorf("%d slots ran, error %v, want %d", sum[0], err, 32*1000)
	}
}

func TestPrefetchedKernelsAreAppliedAtOnce(t *testing.T) {
	gate := &faultgl.Gate{}
	e := newEngine(t, openDevice(t), gated(t, gate))
	geometries := []policy.Geometry{{Width: 32, Groups: 2, Chunk: 128}, {Width: 64, Groups: 2, Chunk: 128}, {Width: 128, Groups: 2, Chunk: 128}}
	var kernels []kernel.Kernel
	for _, g := range geometries {
		kernels = append(kernels, kernel.Kernel{Kind: kernel.Interpreter, Width: g.Width})
	}
	e.Prefetch(kernels...)
	for _, k := range kernels {
		built(t, e, k)
	}
	defer gate.Close()() // nothing is compiled any more
	for _, g := range geometries {
		submit(t, e, "q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpNop, 0)}})
		if r := launch(t, e, Order{Queue: "q", Geometry: g}); r.Applied != g || r.NotApplied != "" {
			t.Errorf("%+v", r)
		}
	}
}

// mixedSlots are slots without conflicts: their order does not matter to what is left in
// the window. Three opcodes make up 97 %.
func mixedSlots(r *rand.Rand, n int) []ring.Slot {
	slots := make([]ring.Slot, n)
	for i := range slots {
		word := uint32(i)
		switch p := r.IntN(100); {
		case p < 50:
			slots[i] = slot(kernel.OpAdd, word%5, r.Uint32(), word)
		case p < 80:
			slots[i] = slot(kernel.OpStore, word%5, r.Uint32(), 10_000+word)
		case p < 97:
			slots[i] = slot(kernel.OpLoad, word%5, 60_000)
		case p < 98:
			slots[i] = slot(kernel.OpCopy, word%5, 50_000, 20_000+8*word, 8)
		case p < 99:
			slots[i] = slot(kernel.OpCompareSwap, word%5, 10_000+word, 0, 7)
		default:
			slots[i] = slot(kernel.OpFault, word%5, 3)
		}
	}
	return slots
}

// TestHotOpcodesOfAQueueAreFused runs the same batches with fusing and without, and
// compares all that is left: results, faults, and the window.
func TestHotOpcodesOfAQueueAreFused(t *testing.T) {
	dev := openDevice(t)
	gate := &faultgl.Gate{}
	fusing, plain := newEngine(t, dev, gated(t, gate)), newEngine(t, dev, nil)
	g := policy.Geometry{Width: 64, Groups: 3, Chunk: 256}
	hot := kernel.NewOpcodeSet(kernel.OpAdd, kernel.OpStore, kernel.OpLoad)
	fused, _ := kernel.FusedKernel(g, hot)
	r := rand.New(rand.NewPCG(3, 4))
	const n = 2000
	var open func()
	ran := map[kernel.KernelKind]int{}
	var chainedSlots uint32
	for i := range 60 {
		slots := mixedSlots(r, n)
		var reports [2]Report
		for j, e := range []*Engine{fusing, plain} {
			submit(t, e, "q", Batch{ID: "b", Slots: slices.Clone(slots), WantResults: true})
			reports[j] = launch(t, e, Order{Queue: "q", Geometry: g, Fuse: e == fusing})
			if len(reports[j].Finished) != 1 {
				t.Fatalf("launch %d: %+v", i, reports[j])
			}
		}
		a, b := &reports[0], &reports[1]
		// Faults come in the order of pages, which differs with the age of an engine.
		if !slices.Equal(a.Finished[0].Results, b.Finished[0].Results) || len(a.Finished[0].Faults) != len(b.Finished[0].Faults) ||
			a.Opcodes != b.Opcodes || a.Executed != b.Executed || a.Faulted != b.Faulted {
			t.Fatalf("launch %d by %s: %d done, %d faulted, and by %s: %d, %d", i, a.Kernel, a.Executed, a.Faulted, b.Kernel, b.Executed, b.Faulted)
		}
		ran[a.Kernel.Kind]++
		if a.Kernel.Kind == kernel.Fused && a.Kernel != fused {
			t.Fatalf("launch %d: %s, hot are %x", i, a.Kernel, hot)
		}
		if b.Kernel.Kind != kernel.Interpreter || b.Wanted.Kind != kernel.Interpreter {
			t.Fatalf("without fusing: %s, wanted %s", b.Kernel, b.Wanted)
		}
		switch {
		case a.Kernel == fused:
			if a.NotApplied != "" || a.Applied != g {
				t.Errorf("launch %d: %+v", i, a)
			}
			chainedSlots += a.Opcodes[kernel.OpCopy] + a.Opcodes[kernel.OpCompareSwap]
		case a.Wanted == fused && !strings.Contains(a.NotApplied, fused.String()):
			t.Errorf("launch %d: %s instead of %s, and why is %q", i, a.Kernel, a.Wanted, a.NotApplied)
		}
		switch {
		case i == 10: // nothing is hot before 16 launches
			open = gate.Close()
		case i == 30:
			open()
			built(t, fusing, fused)
		}
	}
	if ran[kernel.Interpreter] < 20 || ran[kernel.Fused] < 25 || chainedSlots == 0 {
		t.Errorf("%v launches, %d slots in chained dispatches", ran, chainedSlots)
	}
	var windows [2][]uint32
	for j, e := range []*Engine{fusing, plain} {
		windows[j] = make([]uint32, 1<<16)
		if err := e.Read("q", 0, windows[j]); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(windows[0], windows[1]) {
		t.Error("the windows differ")
	}
}

// countingDevice counts what a second context compiles.
type countingDevice struct {
	gpu.Device
	compiles int
}

func (d *countingDevice) CompileCompute(source string) (gpu.Program, error) {
	d.compiles++
	return d.Device.CompileCompute(source)
}

func TestSecondProcessLoadsItsKernelsAndADamagedOneIsRebuilt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "programs")
	process := func(want int) {
		t.Helper()
		dir, err := disk.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		count := &countingDevice{}
		dev := openDevice(t)
		e := newEngine(t, dev, func(c *Config) {
			c.Binaries = dir
			c.Beside = func(dev gpu.Device) (gpu.Device, error) {
				count.Device = gltest.Beside(t, dev.(*glcompute.Device))
				return count, nil
			}
		})
		submit(t, e, "q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpAdd, 0, 1, 0)}})
		if r := launch(t, e, Order{Queue: "q", Geometry: testGeometry}); r.Executed != 1 || r.Applied != testGeometry {
			t.Errorf("report %+v", r)
		}
		built(t, e, kernel.Kernel{Kind: kernel.Interpreter, Width: 128})
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if count.compiles != want {
			t.Errorf("%d kernels compiled, want %d", count.compiles, want)
		}
	}
	process(2)
	process(0)
	files, err := filepath.Glob(filepath.Join(path, "*.prog"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files %v, error %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	process(1)
	process(0)
}

func TestKernelsAreBuiltOnTheNewDeviceAfterALoss(t *testing.T) {
	lost, next := openDevice(t), openDevice(t)
	e := newEngine(t, lost, func(c *Config) {
		c.Beside = func(dev gpu.Device) (gpu.Device, error) { return dev.(*glcompute.Device).OpenShared() }
	})
	run := func(width uint32) {
		t.Helper()
		submit(t, e, "q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpNop, 0)}})
		if r := launch(t, e, Order{Queue: "q", Geometry: policy.Geometry{Width: width, Groups: 1, Chunk: width}}); r.Executed != 1 || r.Applied.Width != width {
			t.Errorf("report %+v", r)
		}
	}
	run(32)
	built(t, e, kernel.Kernel{Kind: kernel.Interpreter, Width: 64})
	run(64)
	if err := e.Move(next); err != nil {
		t.Fatal(err)
	}
	built(t, e, kernel.Kernel{Kind: kernel.Interpreter, Width: 64})
	run(64)
}

// A fused kernel for what is hot is built ahead once launches stay at one width and chunk, and reports
// say when it is built. A launch that then asks for it has it at once; none before it waits.
func TestFusedKernelIsAtHandBeforeItIsAskedFor(t *testing.T) {
	gate := &faultgl.Gate{}
	e := newEngine(t, openDevice(t), gated(t, gate))
	g := policy.Geometry{Width: 32, Groups: 2, Chunk: 128}
	run := func(fuse bool, g policy.Geometry) Report {
		t.Helper()
		submit(t, e, "q", Batch{ID: "b", Slots: slices.Repeat([]ring.Slot{slot(kernel.OpAdd, 0, 1, 0)}, 500)})
		return launch(t, e, Order{Queue: "q", Geometry: g, Fuse: fuse})
	}
	run(false, g)
	open := gate.Close()
	for i := range 3 * aheadFrom {
		g.Chunk = []uint32{128, 256}[i%2]
		if r := run(false, g); r.CompiledReady || r.NotApplied != "" || r.Kernel.Kind != kernel.Interpreter {
			t.Fatalf("%+v", r)
		}
	}
	toBuild := func() int { s := e.exec.programs.Store().Stats(); return s.Waiting + s.Building }
	if n := toBuild(); n != 0 {
		t.Errorf("%d programs are to be built for geometries that change with each launch", n)
	}
	for i := range 2 * aheadFrom {
		g.Groups = uint32(2 + i%3) // which kernels are not compiled for
		if r := run(false, g); r.CompiledReady || r.NotApplied != "" || r.Kernel.Kind != kernel.Interpreter {
			t.Fatalf("while it is built: %+v", r)
		}
	}
	if n := toBuild(); n != 1 {
		t.Errorf("%d programs are to be built for one width and chunk", n)
	}
	open()
	fused, _ := kernel.FusedKernel(g, kernel.NewOpcodeSet(kernel.OpAdd))
	built(t, e, fused)
	if r := run(false, g); !r.CompiledReady || r.Kernel.Kind != kernel.Interpreter {
		t.Errorf("built: %+v", r)
	}
	if r := run(true, g); !r.CompiledReady || r.Kernel.General() != fused {
		t.Errorf("asked for: %+v", r)
	}
	g.Chunk = 512
	if r := run(false, g); r.CompiledReady {
		t.Errorf("at another geometry: %+v", r)
	}
}
