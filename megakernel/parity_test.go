//go:build cgo

package megakernel

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ringmaster/ring"
)

// parityPrograms is how many random programs the kernel and the reference run.
const parityPrograms = 1200

// rig runs programs on a device.
type rig struct {
	dev      Device
	memory   *memory
	programs programs
}

func newRig(t *testing.T) *rig {
	r := &rig{dev: openDevice(t), programs: programs{limit: 16}}
	err := r.dev.Do(func() (err error) {
		r.memory, err = newMemory(r.dev, testPages, testHeapWords)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// run runs the program on the device and returns its whole memory afterwards.
func (r *rig) run(p *testProgram) (*Image, error) {
	m := p.image()
	control := make([]ring.Control, 1)
	return m, r.dev.Do(func() error {
		r.memory.bind()
		kernel, err := r.programs.get(r.dev, p.geometry.Width)
		if err != nil {
			return err
		}
		write(r.memory, ring.BindSlots, 0, m.Slots)
		write(r.memory, ring.BindStatus, 0, m.Statuses)
		write(r.memory, ring.BindResults, 0, m.Results)
		write(r.memory, ring.BindSchedule, 0, m.Schedule)
		write(r.memory, ring.BindHeap, 0, m.Heap)
		if _, err := r.memory.dispatch(kernel, p.geometry.Groups, &p.wave, control); err != nil {
			return err
		}
		m.Control = control[0]
		read(r.memory, ring.BindSlots, 0, m.Slots)
		read(r.memory, ring.BindStatus, 0, m.Statuses)
		read(r.memory, ring.BindResults, 0, m.Results)
		read(r.memory, ring.BindSchedule, 0, m.Schedule)
		read(r.memory, ring.BindHeap, 0, m.Heap)
		return r.dev.Check()
	})
}

// difference describes the first place where two memories differ.
func difference(got, want *Image) string {
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
	return ""
}

// compare runs a program on both and returns where they differ.
func (r *rig) compare(p *testProgram) (string, error) {
	want := p.image()
	Interpret(want, p.wave, p.geometry)
	got, err := r.run(p)
	if err != nil {
		return "", err
	}
	return difference(got, want), nil
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
		if diff, err := r.compare(p); diff != "" || err != nil {
			t.Errorf("%s: %s, error %v", file, diff, err)
		}
	}
}

func TestKernelAndReferenceAgreeOnRandomPrograms(t *testing.T) {
	r := newRig(t)
	var ran ring.Control
	for seed := range uint64(parityPrograms) {
		p := randomProgram(seed)
		diff, err := r.compare(p)
		if err != nil {
			t.Fatal(err)
		}
		if diff != "" {
			path, err := p.save()
			t.Fatalf("seed %d on %s: %s\nsaved as %s (error %v)", seed, p.geometry, diff, path, err)
		}
		m := p.image()
		Interpret(m, p.wave, p.geometry)
		ran.Executed += m.Control.Executed
		ran.Faulted += m.Control.Faulted
		ran.Unreached += m.Control.Unreached
		for op, n := range m.Control.OpcodeCounts {
			ran.OpcodeCounts[op] += n
		}
	}
	// Programs that run nothing would agree too.
	t.Logf("executed %d, faulted %d, unreached %d, by opcode %v", ran.Executed, ran.Faulted, ran.Unreached, ran.OpcodeCounts[:8])
	for _, known := range opcodes {
		if known.op != OpFault && ran.OpcodeCounts[known.op] < parityPrograms {
			t.Errorf("%s ran %d times only", known.op, ran.OpcodeCounts[known.op])
		}
	}
	if ran.Faulted < parityPrograms || ran.Unreached < parityPrograms {
		t.Errorf("%d faults, %d unreached", ran.Faulted, ran.Unreached)
	}
}

// TestSameWorkUnderOtherGeometriesLeavesTheSameMemory runs each program that
// reaches every position at several geometries.
func TestSameWorkUnderOtherGeometriesLeavesTheSameMemory(t *testing.T) {
	r := newRig(t)
	for seed := range uint64(20) {
		var first *Image
		for _, g := range []Geometry{{1, 1, 4096}, {8, 3, 7}, {64, 4, 64}, {256, 2, 512}} {
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
