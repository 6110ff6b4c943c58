//go:build cgo

package megakernel

import (
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

// Sizes of the hostile test: waves of hostilePages pages make 100,000 slots
// and more.
const (
	hostileWaves = 25
	hostilePages = 16
	hostileSteps = 200 // step budget of a wave; slots that may take more stay published
)

// hostileSlot is random in every way: opcodes that exist and that do not,
// operands at and beyond every edge, packed slots with damaged heads.
func hostileSlot(r *rand.Rand, w *kernel.Wave) ring.Slot {
	s := ring.Slot{Opcode: r.Uint32N(20), Tenant: w.Tenant, Priority: r.Uint32(), Sequence: r.Uint32()}
	if r.IntN(20) == 0 {
		s.Opcode = r.Uint32()
	}
	if r.IntN(20) == 0 {
		s.Tenant = r.Uint32()
	}
	for i := range s.Args {
		switch r.IntN(6) {
		case 0:
			s.Args[i] = r.Uint32()
		case 1:
			s.Args[i] = r.Uint32N(300)
		case 2:
			s.Args[i] = w.WindowLength - 3 + r.Uint32N(6)
		case 3:
			s.Args[i] = -w.WindowBase + r.Uint32N(6) // before the window, by wrapping
		case 4:
			s.Args[i] = ^uint32(0) - r.Uint32N(1100)
		default:
			s.Args[i] = r.Uint32N(w.WindowLength)
		}
	}
	if kernel.Opcode(s.Opcode) == kernel.OpPacked && r.IntN(4) > 0 {
		n := 1 + r.Uint32N(kernel.PackedMax+1)
		head := (2*n + 5) / 4 // words of counts, opcodes and offsets
		s.Args[0] = n | (ring.ArgWords-min(head, ring.ArgWords)+r.Uint32N(2))<<8 | r.Uint32N(6)<<16 | r.Uint32N(6)<<24
		for i := uint32(1); i < head && i < ring.ArgWords; i++ {
			s.Args[i] = r.Uint32N(6) | r.Uint32N(8)<<8 | r.Uint32N(6)<<16 | r.Uint32N(8)<<24
		}
	}
	return s
}

// structural are the faults that a slot deserves whatever the window holds.
var structural = []ring.FaultCode{ring.FaultUnknownOpcode, ring.FaultCopyTooLong, ring.FaultBadCode, ring.FaultBadOperand, ring.FaultBadPacked}

// TestKernelsRefuseWhatTheHostRefusesAndStayInTheWindow runs 100,000 random slots by the
// interpreter, by fused kernels and by an exact one and compares everything outside the window with what it
// was, and what the kernels refuse with what CheckSlot refuses.
func TestKernelsRefuseWhatTheHostRefusesAndStayInTheWindow(t *testing.T) {
	ops, err := userop.LoadDir(os.DirFS("../docs/opcodes"))
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	if r.catalog, err = kernel.NewCatalog(ops); err != nil {
		t.Fatal(err)
	}
	r.resize(t, hostilePages, testPrints)
	random := rand.New(rand.NewPCG(4, 2))
	w := kernel.Wave{Entries: hostilePages - 1, StepBudget: hostileSteps, Tenant: 3, WindowBase: 3000, WindowLength: 1000}
	refused, ran := 0, 0
	for wave := range hostileWaves {
		p := &testProgram{wave: w, geometry: policy.Geometry{Width: 64, Groups: 8, Chunk: 64}, hot: []kernel.OpcodeSet{0, kernel.NewOpcodeSet(kernel.OpStore, kernel.OpPacked, kernel.OpCopy) | 1<<16, r.catalog.All(), r.catalog.All()}[wave%4], exact: wave%4 == 3}
		p.wave.Chunk, p.wave.ClaimBudget = 64, 1000
		for i := range hostilePages {
			if i != hostilePages/2 { // this page's slots are published, but not scheduled
				p.schedule = append(p.schedule, ring.NewEntry(uint32(i), ring.PageSlots))
			}
		}
		for range hostilePages * ring.PageSlots {
			p.slots = append(p.slots, hostileSlot(random, &w))
			p.statuses = append(p.statuses, ring.NewStatus(ring.Published))
		}
		before := p.image()
		m, err := r.run(p)
		if err != nil {
			t.Fatal(err)
		}
		end := w.WindowBase + w.WindowLength
		if !slices.Equal(m.Heap[:w.WindowBase], before.Heap[:w.WindowBase]) || !slices.Equal(m.Heap[end:], before.Heap[end:]) {
			t.Fatalf("wave %d: words outside the window changed", wave)
		}
		if !slices.Equal(m.Slots, before.Slots) || !slices.Equal(m.Schedule, before.Schedule) {
			t.Fatalf("wave %d: slots or schedule changed", wave)
		}
		var count ring.Control
		for i, status := range m.Statuses {
			s := &m.Slots[i]
			if i/ring.PageSlots == hostilePages/2 {
				if status != before.Statuses[i] || m.Results[i] != before.Results[i] {
					t.Fatalf("slot %d was not scheduled and is %s", i, status)
				}
				continue
			}
			hostile := r.catalog.CheckSlot(s) != nil
			switch status.State() {
			case ring.Done:
				count.Executed++
				ran++
			case ring.Fault:
				count.Faulted++
			case ring.Yielded, ring.Requeued:
				count.Again++
			case ring.Published:
				count.Unreached++
			default:
				t.Fatalf("slot %d is %s: %v", i, status, s)
			}
			if hostile {
				refused++
			}
			if hostile && status.State() != ring.Fault {
				t.Fatalf("slot %d is refused by the host and %s: %v: %v", i, status, r.catalog.CheckSlot(s), s)
			}
			if !hostile && s.Tenant == w.Tenant && slices.Contains(structural, status.Fault()) {
				t.Fatalf("slot %d is accepted by the host and %s: %v", i, status, s)
			}
			if s.Tenant != w.Tenant && status.Fault() != ring.FaultForeignTenant {
				t.Fatalf("slot %d of tenant %d is %s", i, s.Tenant, status)
			}
		}
		c := &m.Control
		if c.Executed != count.Executed || c.Faulted != count.Faulted || c.Again != count.Again || c.Unreached != count.Unreached {
			t.Fatalf("wave %d: counted %+v, the device says %+v", wave, count, *c)
		}
	}
	if refused < 10_000 || ran < 10_000 {
		t.Errorf("%d slots refused, %d ran", refused, ran)
	}
	t.Logf("%d slots refused, %d ran", refused, ran)
}

// TestRacingSlotsLoseNothing lets slots of both dispatches of a wave race for
// a few words.
func TestRacingSlotsLoseNothing(t *testing.T) {
	r := newRig(t)
	const words = 3
	p := &testProgram{geometry: policy.Geometry{Width: 64, Groups: 7, Chunk: 128}, hot: kernel.NewOpcodeSet(kernel.OpAdd), wave: kernel.Wave{Entries: testPages, Chunk: 128, ClaimBudget: 100, StepBudget: 1, WindowLength: 100}}
	var sum, swaps [words]uint32
	for i := range uint32(testSlots) {
		word := i % words
		s := slot(kernel.OpAdd, 0, i, word)
		switch i % 4 {
		case 1: // the same by a part of a packed slot, which is cold
			args, ok := kerneltest.Pack(kerneltest.Part{Opcode: uint32(kernel.OpAdd), Args: []uint32{i, word}}, kerneltest.Part{Opcode: uint32(kernel.OpNop)})
			if !ok {
				t.Fatal("the parts do not fit a slot")
			}
			s.Opcode, s.Args = uint32(kernel.OpPacked), args
		case 2: // of these only one can succeed
			s = slot(kernel.OpCompareSwap, 0, 10+word, initialWord(10+word), i)
			swaps[word]++
		}
		if i%4 != 2 {
			sum[word] += i
		}
		p.slots = append(p.slots, s)
		p.statuses = append(p.statuses, ring.NewStatus(ring.Published))
	}
	for i := range uint32(testPages) {
		p.schedule = append(p.schedule, ring.NewEntry(i, ring.PageSlots))
	}
	m, err := r.run(p)
	if err != nil {
		t.Fatal(err)
	}
	for word := range uint32(words) {
		if got, want := m.Heap[word], initialWord(word)+sum[word]; got != want {
			t.Errorf("word %d is %d, want %d", word, got, want)
		}
		won := 0
		for i := range p.slots {
			if s := &p.slots[i]; kernel.Opcode(s.Opcode) == kernel.OpCompareSwap && s.Args[0] == 10+word && m.Results[i] == s.Args[1] {
				won++
				if m.Heap[10+word] != s.Args[2] {
					t.Errorf("slot %d swapped word %d, which is %d", i, 10+word, m.Heap[10+word])
				}
			}
		}
		if won != 1 {
			t.Errorf("%d of %d swaps of word %d succeeded", won, swaps[word], 10+word)
		}
	}
}

// TestPrintsSurviveAWrapOfTheLog prints more than the log keeps, in one wave and again.
func TestPrintsSurviveAWrapOfTheLog(t *testing.T) {
	r := newRig(t)
	const records = 256
	r.resize(t, testPages, records)
	var reader ring.PrintReader
	log := make([]uint32, ring.PrintLogWords(records))
	total := uint32(0)
	for round := range 3 {
		p := &testProgram{geometry: policy.Geometry{Width: 64, Groups: 5, Chunk: 64}, wave: kernel.Wave{Entries: testPages, Chunk: 64, ClaimBudget: 100, Tenant: 9}, prints: log}
		for i := range uint32(testSlots) {
			s := slot(kernel.OpPrint, 0, i, ^i, uint32(round), i*i)
			s.Tenant, s.Sequence = 9, i
			p.slots = append(p.slots, s)
			p.statuses = append(p.statuses, ring.NewStatus(ring.Published))
		}
		for i := range uint32(testPages) {
			p.schedule = append(p.schedule, ring.NewEntry(i, ring.PageSlots))
		}
		m, err := r.run(p)
		if err != nil {
			t.Fatal(err)
		}
		log = m.Print
		total += testSlots
		got, lost, err := reader.Read(nil, log)
		if err != nil || log[0] != total || uint32(len(got))+lost != testSlots || len(got) == 0 || len(got) > records {
			t.Fatalf("%d records and %d overwritten of %d, cursor %d, error %v", len(got), lost, testSlots, log[0], err)
		}
		seen := make(map[uint32]bool)
		for _, rec := range got {
			i := rec.Sequence
			if rec != (ring.PrintRecord{Sequence: i, Tenant: 9, Args: [ring.PrintArgs]uint32{i, ^i, uint32(round), i * i}}) || seen[i] {
				t.Fatalf("record %+v", rec)
			}
			seen[i] = true
		}
	}
}
