//go:build cgo

package megakernel

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/kernel/kerneltest"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/userop"
	"ringmaster/ring"
)

// fusedPrograms is how many random programs each fused kernel of the tests runs.
const fusedPrograms = 24

// fusedCases are kernels of many widths, chunks and hot sets, with user added
// to the last ones.
func fusedCases(user kernel.OpcodeSet) []kernel.Kernel {
	sets := []kernel.OpcodeSet{
		kernel.NewOpcodeSet(kernel.OpStore, kernel.OpAdd, kernel.OpLoad),
		kernel.NewOpcodeSet(kernel.OpNop),
		kernel.NewOpcodeSet(kernel.OpPacked),
		kernel.NewOpcodeSet(kernel.OpCopy, kernel.OpPrint, kernel.OpCompareSwap),
		kernel.NewOpcodeSet(kernel.OpYield, kernel.OpAwait, kernel.OpFault, kernel.OpFence),
		kernel.BuiltIn().All(),
		kernel.NewOpcodeSet(kernel.OpAdd, kernel.OpLoad) | user,
		user,
		kernel.BuiltIn().All() | user,
	}
	geometries := []policy.Geometry{
		{Width: 1, Groups: 3, Chunk: 7}, {Width: 8, Groups: 2, Chunk: 256}, {Width: 32, Groups: 5, Chunk: 32}, {Width: 51, Groups: 3, Chunk: 100}, {Width: 64, Groups: 4, Chunk: 2048}, {Width: 100, Groups: 1, Chunk: 1000}, {Width: 128, Groups: 9, Chunk: 64}, {Width: 256, Groups: 2, Chunk: 512}, {Width: 256, Groups: 1, Chunk: 1},
	}
	var kernels []kernel.Kernel
	for i, set := range sets {
		for j := range 2 {
			g := geometries[(i+j*4)%len(geometries)]
			if k, ok := kernel.FusedKernel(g, set); ok {
				kernels = append(kernels, k)
			}
		}
	}
	return kernels
}

// histogramCatalog is the built-in opcodes and a histogram.
func histogramCatalog(t *testing.T) (*kernel.Catalog, kernel.Opcode) {
	ops, err := userop.LoadDir(os.DirFS("../docs/opcodes"))
	if err != nil {
		t.Fatal(err)
	}
	ops = slices.DeleteFunc(ops, func(o userop.Opcode) bool { return o.Name != "histogram" })
	c, err := kernel.NewCatalog(ops)
	if err != nil {
		t.Fatal(err)
	}
	op, ok := c.Lookup("histogram")
	if !ok {
		t.Fatal("no histogram among the examples")
	}
	return c, op
}

// TestReferenceInterpreterAndFusedAgree runs random programs by the Go
// reference, by the interpreter, by the reference of a fused kernel and what
// it leaves to the interpreter, and by those two on the device.
func TestReferenceInterpreterAndFusedAgree(t *testing.T) {
	r := newRig(t)
	var histogram kernel.Opcode
	r.catalog, histogram = histogramCatalog(t)
	var ran ring.Control
	for i, k := range fusedCases(kernel.NewOpcodeSet(histogram)) {
		for seed := range uint64(fusedPrograms) {
			p := randomProgram(seed + uint64(i)<<32)
			p.histogram(histogram, seed)
			p.geometry.Width, p.geometry.Chunk, p.wave.Chunk = k.Width, k.Chunk, k.Chunk
			chunks := (p.wave.Entries<<ring.PageShift + k.Chunk - 1) / k.Chunk
			p.wave.ClaimBudget = chunks + 1
			if seed%4 == 0 && chunks >= 2*p.geometry.Groups {
				p.wave.ClaimBudget = 1 + uint32(seed)%(chunks/p.geometry.Groups)
			}
			interpreted, err := r.interpret(p)
			if err != nil {
				t.Fatal(err)
			}
			p.hot = k.Hot
			diff, fused, err := r.compare(p)
			if err != nil {
				t.Fatalf("%s: %v", k, err)
			}
			if diff != "" {
				t.Fatalf("%s, seed %d, %d groups: %s", k, seed, p.geometry.Groups, diff)
			}
			ran.Cold += fused.Control.Cold
			ran.Executed += fused.Control.Executed
			for op, n := range fused.Control.OpcodeCounts {
				ran.OpcodeCounts[op] += n
			}
			// Apart from who ran what, a fused kernel leaves the same memory.
			forget(&fused.Control)
			forget(&interpreted.Control)
			clear(fused.Cold)
			if diff := difference(fused, interpreted); diff != "" {
				t.Fatalf("%s, seed %d: fused and interpreter differ: %s", k, seed, diff)
			}
		}
	}
	t.Logf("executed %d, cold %d, histograms %d", ran.Executed, ran.Cold, ran.OpcodeCounts[histogram])
	if ran.Cold < 5_000 || ran.Executed < ran.Cold/2 || ran.OpcodeCounts[histogram] < 500 {
		t.Errorf("executed %d, cold %d, histograms %d", ran.Executed, ran.Cold, ran.OpcodeCounts[histogram])
	}
}

// TestExactKernelsFaultWhatTheyHaveNotAndElseAgree runs random programs by exact kernels
// and their reference: first as they are, slots of other opcodes among them, which end in a
// fault each; then without those, which leaves what the interpreter does.
func TestExactKernelsFaultWhatTheyHaveNotAndElseAgree(t *testing.T) {
	r := newRig(t)
	var histogram kernel.Opcode
	r.catalog, histogram = histogramCatalog(t)
	var unknown, executed int
	for i, k := range fusedCases(kernel.NewOpcodeSet(histogram)) {
		has := r.catalog.Compiled(k)
		for seed := range uint64(fusedPrograms) {
			p := randomProgram(seed + uint64(i)<<32)
			p.histogram(histogram, seed)
			p.geometry.Width, p.geometry.Chunk, p.wave.Chunk = k.Width, k.Chunk, k.Chunk
			p.hot, p.exact = k.Hot, true
			chunks := (p.wave.Entries<<ring.PageShift + k.Chunk - 1) / k.Chunk
			p.wave.ClaimBudget = chunks + 1
			if seed%4 == 0 && chunks >= 2*p.geometry.Groups {
				p.wave.ClaimBudget = 1 + uint32(seed)%(chunks/p.geometry.Groups)
			}
			diff, m, err := r.compare(p)
			if err != nil || diff != "" {
				t.Fatalf("%s, seed %d: %s, error %v", k.Exact(), seed, diff, err)
			}
			for j, s := range m.Statuses {
				if s != p.statuses[j] && !has.Has(kernel.Opcode(p.slots[j].Opcode)) {
					if s.State() != ring.Fault {
						t.Fatalf("%s, seed %d: slot %d of opcode %d is %s", k.Exact(), seed, j, p.slots[j].Opcode, s)
					}
					unknown++
				}
			}
			for j := range p.slots {
				if !has.Has(kernel.Opcode(p.slots[j].Opcode)) {
					p.statuses[j] = ring.NewStatus(ring.Empty)
				}
			}
			got, err := r.run(p)
			if err != nil {
				t.Fatal(err)
			}
			p.hot = 0
			interpreted, err := r.interpret(p)
			if err != nil {
				t.Fatal(err)
			}
			executed += int(got.Control.Executed)
			if diff := difference(got, interpreted); diff != "" {
				t.Fatalf("%s, seed %d: exact and interpreter differ: %s", k.Exact(), seed, diff)
			}
		}
	}
	if unknown < 5_000 || executed < 5_000 {
		t.Errorf("%d slots of other opcodes, %d executed", unknown, executed)
	}
}

// forget clears what a control block says about how a wave was divided.
func forget(c *ring.Control) {
	c.Ticket, c.Chunks = 0, 0
	c.Cold, c.ColdTicket, c.ColdDispatch = 0, 0, [3]uint32{}
}

// histogram turns some of the program's nops into histograms of words that
// are only read, into words that are only added to.
func (p *testProgram) histogram(op kernel.Opcode, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 16))
	eighth := p.wave.WindowLength / 8
	for i := range p.slots {
		if s := &p.slots[i]; kernel.Opcode(s.Opcode) == kernel.OpNop {
			s.Opcode = uint32(op)
			clear(s.Args[:])
			s.Args[0], s.Args[1], s.Args[2] = r.Uint32N(eighth-200)*4, r.Uint32N(140), eighth+r.Uint32N(eighth-256)
			if r.IntN(8) == 0 {
				s.Args[2] = p.wave.WindowLength - 1
			}
		}
	}
}

func TestChainedDispatchTakesItsGroupsFromTheDevice(t *testing.T) {
	for _, c := range []struct {
		cold, chunk, groups, want uint32
	}{{0, 64, 4, 0}, {1, 64, 4, 1}, {64, 64, 4, 1}, {65, 64, 4, 2}, {1000, 64, 4, 4}} {
		p := &testProgram{geometry: policy.Geometry{Width: 64, Groups: c.groups, Chunk: c.chunk}, hot: kernel.NewOpcodeSet(kernel.OpNop),
			slots: make([]ring.Slot, testSlots), statuses: make([]ring.Status, testSlots)}
		for i := range uint32(4) {
			p.schedule = append(p.schedule, ring.NewEntry(i, ring.PageSlots))
		}
		p.wave = kernel.Wave{Entries: 4, Chunk: c.chunk, ClaimBudget: 100}
		for i := range c.cold {
			p.slots[i*1024/max(c.cold, 1)].Opcode = uint32(kernel.OpFence)
		}
		for i := range p.statuses {
			p.statuses[i] = ring.NewStatus(ring.Published)
		}
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			m, err := newRig(t).run(p)
			if err != nil {
				t.Fatal(err)
			}
			if m.Control.Cold != c.cold || m.Control.ColdDispatch != [3]uint32{c.want, 1, 1} || m.Control.OpcodeCounts[kernel.OpFence] != c.cold {
				t.Errorf("%+v", m.Control)
			}
		})
	}
}

// TestWholeBudgetHoldsForMixedVectors lets workgroups use their budget up with
// vectors whose lanes have different loops to run, which then add up. A driver that
// ends loops early would lose slots that were claimed.
func TestWholeBudgetHoldsForMixedVectors(t *testing.T) {
	r := newRig(t)
	var histogram kernel.Opcode
	r.catalog, histogram = histogramCatalog(t)
	packed, ok := kerneltest.Pack(slices.Repeat([]kerneltest.Part{{Opcode: uint32(kernel.OpAdd), Args: []uint32{1, 3}}}, kernel.PackedMax)...)
	if !ok {
		t.Fatal("the parts do not fit a slot")
	}
	set := kernel.NewOpcodeSet(kernel.OpCopy, kernel.OpPacked, histogram)
	for _, hot := range []kernel.OpcodeSet{0, set, kernel.NewOpcodeSet(kernel.OpPacked)} {
		for _, steps := range []uint32{1, 30, 500} {
			g := policy.Geometry{Width: 8, Groups: 1, Chunk: 64}
			p := &testProgram{geometry: g, hot: hot}
			for i := range testSlots {
				s := slot(kernel.OpCopy, 0, 0, 4096, steps)
				switch i % 3 {
				case 1:
					s = ring.Slot{Opcode: uint32(kernel.OpPacked), Args: packed}
				case 2:
					s = slot(histogram, 0, 0, steps, 6000)
				}
				p.slots = append(p.slots, s)
				p.statuses = append(p.statuses, ring.NewStatus(ring.Published))
			}
			for page := range uint32(testPages) {
				p.schedule = append(p.schedule, ring.NewEntry(page, ring.PageSlots))
			}
			k := kernel.Kernel{Kind: kernel.Interpreter, Width: g.Width}
			if hot != 0 {
				k, _ = kernel.FusedKernel(g, hot)
			}
			cost := r.catalog.RowCost(k, set, steps)
			p.wave = kernel.Wave{Entries: testPages, Chunk: g.Chunk, StepBudget: steps, WindowLength: testHeapWords,
				ClaimBudget: kernel.ClaimBudget(g, cost-kernel.RowIterations, kernel.DefaultLoopBudget)}
			p.coldBudget = kernel.ClaimBudget(g, r.catalog.RowCost(kernel.Kernel{Kind: kernel.Interpreter, Width: g.Width}, set, steps)-kernel.RowIterations, kernel.DefaultLoopBudget)
			m, err := r.run(p)
			if err != nil {
				t.Fatal(err)
			}
			c := &m.Control
			claimed := min(p.wave.ClaimBudget*g.Chunk, testSlots)
			if hot != 0 {
				claimed -= c.Cold - min(c.Cold, p.coldBudget*g.Chunk)
			}
			if c.Executed != claimed || c.Faulted+c.Again+c.Unreached != 0 {
				t.Errorf("hot %#x, %d steps: %d claimed of them %d cold, %d ran, %d faulted", uint64(hot), steps, claimed, c.Cold, c.Executed, c.Faulted)
			}
		}
	}
}
