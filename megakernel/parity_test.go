//go:build cgo

package megakernel

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/memory"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/program"
	"ringmaster/ring"
)

// parityPrograms is how many random programs the kernel and the reference run.
const parityPrograms = 1200

// rig runs programs on a device.
type rig struct {
	dev     gpu.Device
	memory  *memory.Ring
	catalog *kernel.Catalog
	kernels map[kernel.Kernel]*program.Program
}

func newRig(t *testing.T) *rig {
	r := &rig{dev: openDevice(t), catalog: kernel.BuiltIn(), kernels: make(map[kernel.Kernel]*program.Program)}
	r.resize(t, testPages, testPrints)
	return r
}

// resize gives the rig memory of other sizes.
func (r *rig) resize(t *testing.T, pages, prints int) {
	traits := gpu.TraitsOf(r.dev)
	err := r.dev.Do(func() (err error) {
		if r.memory != nil {
			r.memory.Delete()
		}
		r.memory, err = memory.New(r.dev, &traits, pages, testHeapWords, prints, 1)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// kernel is a compiled kernel. Called on the device's thread.
func (r *rig) kernel(k kernel.Kernel) (*program.Program, error) {
	if p := r.kernels[k]; p != nil {
		return p, nil
	}
	p, err := program.Compile(r.dev, k.Width, r.catalog.Source(k))
	if err == nil {
		r.kernels[k] = p
	}
	return p, err
}

// each calls visit with the kernel, wave and geometry of each dispatch of a program.
func (p *testProgram) each(visit func(kernel.Kernel, kernel.Wave, policy.Geometry) error) error {
	k := kernel.Kernel{Kind: kernel.Interpreter, Width: p.geometry.Width}
	if p.hot == 0 {
		return visit(k, p.wave, p.geometry)
	}
	fused, ok := kernel.FusedKernel(p.geometry, p.hot)
	if !ok {
		return fmt.Errorf("no fused kernel %s", fused)
	}
	if p.exact {
		return visit(fused.Exact(), p.wave, p.geometry)
	}
	if err := visit(fused, p.wave, p.geometry); err != nil {
		return err
	}
	cold := p.wave
	cold.Cold = true
	cold.Entries = 0
	cold.ClaimBudget = uint32(len(p.slots))/cold.Chunk + 2 // all of it, however the groups share it
	if p.coldBudget != 0 {
		cold.ClaimBudget = p.coldBudget
	}
	return visit(k, cold, p.geometry)
}

// run runs the program on the device and returns its whole memory afterwards.
func (r *rig) run(p *testProgram) (*kernel.Image, error) {
	m := p.image()
	control := make([]ring.Control, 1)
	return m, r.dev.Do(func() error {
		r.memory.Bind()
		r.exchange(m, control, false)
		err := p.each(func(k kernel.Kernel, w kernel.Wave, g policy.Geometry) error {
			kernel, err := r.kernel(k)
			if err != nil {
				return err
			}
			kernel.SetUniforms(r.dev, &w)
			r.memory.BindSchedule(0, w.Cold)
			r.dev.Dispatch(kernel.ID, g.Groups)
			r.dev.Barrier()
			return nil
		})
		if err != nil {
			return err
		}
		r.dev.Finish()
		r.exchange(m, control, true)
		m.Control = control[0]
		return r.dev.Check()
	})
}

// exchange writes an image to the device, or reads it back.
func (r *rig) exchange(m *kernel.Image, control []ring.Control, read bool) {
	part(r, read, ring.BindControl, control)
	part(r, read, ring.BindSlots, m.Slots)
	part(r, read, ring.BindStatus, m.Statuses)
	part(r, read, ring.BindResults, m.Results)
	part(r, read, ring.BindSchedule, m.Schedule)
	part(r, read, ring.BindHeap, m.Heap)
	part(r, read, ring.BindCold, m.Cold)
	part(r, read, ring.BindPrint, m.Print)
}

func part[T ~uint32 | ring.Slot | ring.Control](r *rig, read bool, binding int, words []T) {
	if read {
		memory.Read(r.memory, binding, 0, words)
	} else {
		memory.Write(r.memory, binding, 0, words)
	}
}

// interpret runs the program in Go.
func (r *rig) interpret(p *testProgram) (*kernel.Image, error) {
	m := p.image()
	return m, p.each(func(k kernel.Kernel, w kernel.Wave, g policy.Geometry) error {
		r.catalog.Interpret(m, k, w, g)
		return nil
	})
}

// unordered describes where memories differ that are filled in any order.
func unordered(got, want *kernel.Image) string {
	slices.Sort(got.Cold[:got.Control.Cold])
	slices.Sort(want.Cold[:want.Control.Cold])
	if !slices.Equal(got.Cold, want.Cold) {
		return "the cold lists differ"
	}
	prints := func(m *kernel.Image) []ring.PrintRecord {
		var reader ring.PrintReader
		records, _, err := reader.Read(nil, m.Print)
		if err != nil {
			panic(err)
		}
		slices.SortFunc(records, func(a, b ring.PrintRecord) int { return int(a.Sequence) - int(b.Sequence) })
		return records
	}
	if g, w := prints(got), prints(want); !slices.Equal(g, w) || got.Print[0] != want.Print[0] {
		return fmt.Sprintf("%d prints of %d, want %d of %d", len(g), got.Print[0], len(w), want.Print[0])
	}
	return ""
}

// difference describes the first place where two memories differ.
func difference(got, want *kernel.Image) string {
	if got.Control != want.Control {
		return fmt.Sprintf("control is %+v, want %+v", got.Control, want.Control)
	}
	for i := range want.Slots {
		switch {
		case got.Slots[i] != want.Slots[i]:
			return fmt.Sprintf("slot %d changed: %v", i, got.Slots[i])
		case got.Statuses[i] != want.Statuses[i]:
			return fmt.Sprintf("slot %d is %s, want %s: %v", i, got.Statuses[i], want.Statuses[i], want.Slots[i])
		case got.Results[i] != want.Results[i]:
			return fmt.Sprintf("result %d is %#x, want %#x: %v", i, got.Results[i], want.Results[i], want.Slots[i])
		}
	}
	for i := range want.Schedule {
		if got.Schedule[i] != want.Schedule[i] {
			return fmt.Sprintf("schedule entry %d changed", i)
		}
	}
	for i := range want.Heap {
		if got.Heap[i] != want.Heap[i] {
			return fmt.Sprintf("heap word %d is %#x, want %#x", i, got.Heap[i], want.Heap[i])
		}
	}
	return unordered(got, want)
}

// compare runs a program on both and returns where they differ, and what the
// reference left.
func (r *rig) compare(p *testProgram) (string, *kernel.Image, error) {
	want, err := r.interpret(p)
	if err != nil {
		return "", nil, err
	}
	got, err := r.run(p)
	if err != nil {
		return "", nil, err
	}
	return difference(got, want), want, nil
}

func TestKernelAndReferenceAgreeOnSavedPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/programs/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no saved programs, error %v", err)
	}
	r := newRig(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := parseProgram(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if diff, _, err := r.compare(p); diff != "" || err != nil {
			t.Errorf("%s: %s, error %v", file, diff, err)
		}
	}
}

func TestKernelAndReferenceAgreeOnRandomPrograms(t *testing.T) {
	r := newRig(t)
	var ran ring.Control
	for seed := range uint64(parityPrograms) {
		p := randomProgram(seed)
		diff, m, err := r.compare(p)
		if err != nil {
			t.Fatal(err)
		}
		if diff != "" {
			path, err := p.save()
			t.Fatalf("seed %d on %s: %s\nsaved as %s (error %v)", seed, p.geometry, diff, path, err)
		}
		ran.Executed += m.Control.Executed
		ran.Faulted += m.Control.Faulted
		ran.Again += m.Control.Again
		ran.Unreached += m.Control.Unreached
		for op, n := range m.Control.OpcodeCounts {
			ran.OpcodeCounts[op] += n
		}
	}
	// Programs that run nothing would agree too.
	t.Logf("executed %d, faulted %d, unreached %d, by opcode %v", ran.Executed, ran.Faulted, ran.Unreached, ran.OpcodeCounts[:16])
	for _, op := range kernel.BuiltIn().All().Opcodes() {
		if op != kernel.OpFault && ran.OpcodeCounts[op] < parityPrograms {
			t.Errorf("%s ran %d times only", op, ran.OpcodeCounts[op])
		}
	}
	if ran.Faulted < parityPrograms || ran.Unreached < parityPrograms || ran.Again < parityPrograms {
		t.Errorf("%d faults, %d unreached", ran.Faulted, ran.Unreached)
	}
}

// TestSameWorkUnderOtherGeometriesLeavesTheSameMemory runs each program that
// reaches every position at several geometries.
func TestSameWorkUnderOtherGeometriesLeavesTheSameMemory(t *testing.T) {
	r := newRig(t)
	for seed := range uint64(20) {
		var first *kernel.Image
		for _, g := range []policy.Geometry{{Width: 1, Groups: 1, Chunk: 4096}, {Width: 8, Groups: 3, Chunk: 7}, {Width: 64, Groups: 4, Chunk: 64}, {Width: 256, Groups: 2, Chunk: 512}} {
			p := randomProgram(seed)
			p.geometry, p.wave.Chunk, p.wave.ClaimBudget = g, g.Chunk, 1<<12
			got, err := r.run(p)
			if err != nil {
				t.Fatal(err)
			}
			c := &got.Control
			if c.LocalSize != g.Width || c.Groups != g.Groups || c.Chunk != g.Chunk {
				t.Errorf("the device ran %dx%dx%d, want %s", c.LocalSize, c.Groups, c.Chunk, g)
			}
			*c = ring.Control{Executed: c.Executed, Faulted: c.Faulted, Unreached: c.Unreached, OpcodeCounts: c.OpcodeCounts}
			if first == nil {
				first = got
			} else if diff := difference(got, first); diff != "" {
				t.Errorf("seed %d on %s: %s", seed, g, diff)
			}
		}
	}
}
