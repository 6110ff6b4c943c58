package megakernel

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeebo/blake3"

	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/kernel/kerneltest"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

// A testProgram is one wave on small buffers: everything a kernel reads,
// except the heap's words, which are a fixed function of their index.
type testProgram struct {
	geometry   policy.Geometry
	wave       kernel.Wave
	schedule   []ring.Entry
	slots      []ring.Slot // testPages pages
	statuses   []ring.Status
	coldBudget uint32           // claims of a group in the second dispatch; 0: as many as it needs
	prints     []uint32         // the print log; nil: testPrints records, none of them written
	hot        kernel.OpcodeSet // for a fused kernel and an interpreter behind it; 0: the interpreter alone
	exact      bool             // by the exact kernel of hot instead
}

// Sizes of the buffers that every program runs on.
const (
	testPages     = 6
	testSlots     = testPages * ring.PageSlots
	testHeapWords = 1 << 13
	testPrints    = 2048 // more than there are slots: nothing is overwritten
)

// image is the program's memory before the wave. Results start as a pattern,
// so that a kernel that writes one it should not is noticed.
func (p *testProgram) image() *kernel.Image {
	m := &kernel.Image{
		Slots:    append([]ring.Slot(nil), p.slots...),
		Statuses: append([]ring.Status(nil), p.statuses...),
		Results:  make([]uint32, len(p.slots)),
		Schedule: make([]ring.Entry, len(p.slots)/ring.PageSlots),
		Heap:     make([]uint32, testHeapWords),
		Cold:     make([]uint32, len(p.slots)),
		Print:    append([]uint32(nil), p.prints...),
	}
	if p.prints == nil {
		m.Print = make([]uint32, ring.PrintLogWords(testPrints))
	}
	copy(m.Schedule, p.schedule)
	for i := range m.Results {
		m.Results[i] = 0xA5A50000 + uint32(i)
	}
	for i := range m.Heap {
		m.Heap[i] = initialWord(uint32(i))
	}
	return m
}

// initialWord is what a word of the heap is before the wave.
func initialWord(i uint32) uint32 { return i*2654435761 + 12345 }

// randomProgram draws a program whose slots do not conflict: of its window's
// words some are only read, some only added to, and each other word is
// written by one slot at most.
func randomProgram(seed uint64) *testProgram {
	r := rand.New(rand.NewPCG(seed, 0x52494e47))
	p := &testProgram{slots: make([]ring.Slot, testSlots), statuses: make([]ring.Status, testSlots)}
	p.wave.Tenant = r.Uint32N(1000)
	p.wave.WindowBase = r.Uint32N(500)
	p.wave.WindowLength = 3000 + r.Uint32N(testHeapWords-3500-500)
	p.wave.StepBudget = []uint32{kernel.CopyCap, kernel.CopyCap, 64, 1, 0}[r.IntN(5)]
	for _, page := range r.Perm(testPages)[:1+r.IntN(testPages)] {
		p.schedule = append(p.schedule, ring.NewEntry(uint32(page), 1+r.IntN(ring.PageSlots)))
	}
	p.wave.Entries = uint32(len(p.schedule))

	g := programGenerator{Rand: r, wave: &p.wave, free: p.wave.WindowLength / 4}
	for i := range p.slots {
		p.slots[i] = g.slot(uint32(i))
		status := ring.NewStatus(ring.Published)
		if r.IntN(10) == 0 {
			status = ring.NewStatus(ring.State(r.IntN(6)))
			if status.State() == ring.Fault {
				status = status.WithFault(ring.FaultUser)
			}
		}
		for range []int{0, 1, 3, 300}[r.IntN(4)] {
			status = status.Attempted()
		}
		p.statuses[i] = status
	}

	p.geometry = policy.Geometry{
		Width:  []uint32{1, 8, 32, 51, 64, 128, 256}[r.IntN(7)],
		Groups: 1 + r.Uint32N(9),
		Chunk:  []uint32{1, 7, 32, 64, 100, 256, 1000, 4096}[r.IntN(8)],
	}
	p.wave.Chunk = p.geometry.Chunk
	// Either every position is reached, or every group uses its budget up:
	// in both cases it does not depend on the order of the tickets what runs.
	positions := p.wave.Entries << ring.PageShift
	chunks := (positions + p.wave.Chunk - 1) / p.wave.Chunk
	p.wave.ClaimBudget = chunks + 1
	if perGroup := chunks / p.geometry.Groups; r.IntN(4) == 0 && perGroup > 0 {
		p.wave.ClaimBudget = 1 + r.Uint32N(perGroup)
	}
	return p
}

// programGenerator draws slots. The first eighth of the window is read, the
// second is added to, words from free on are written.
type programGenerator struct {
	*rand.Rand
	wave *kernel.Wave
	free uint32
}

func (g *programGenerator) slot(sequence uint32) ring.Slot {
	w := g.wave
	eighth := w.WindowLength / 8
	s := ring.Slot{Tenant: w.Tenant, Priority: g.Uint32N(ring.Priorities), Sequence: sequence}
	set := func(op kernel.Opcode, args ...uint32) {
		s.Opcode = uint32(op)
		copy(s.Args[:], args)
	}
	for i := range s.Args {
		s.Args[i] = g.Uint32()
	}
	// outside is an address from which n words leave the window, also by
	// wrapping around.
	outside := func(n uint32) uint32 {
		return []uint32{w.WindowLength - n + 1, w.WindowLength, w.WindowLength + g.Uint32N(1000), ^uint32(0) - g.Uint32N(2*n+2)}[g.IntN(4)]
	}
	switch k := g.IntN(26); {
	case k < 2:
		set(kernel.OpNop)
	case k < 6 && g.free < w.WindowLength:
		set(kernel.OpStore, g.Uint32(), g.free)
		g.free++
	case k < 9:
		set(kernel.OpAdd, g.Uint32(), eighth+g.Uint32N(eighth))
	case k < 12:
		set(kernel.OpLoad, g.Uint32N(eighth))
	case k < 14:
		n := min([]uint32{0, 1, 2, 33}[g.IntN(4)], w.WindowLength-g.free)
		set(kernel.OpCopy, g.Uint32N(eighth-33), g.free, n)
		g.free += n
	case k < 15:
		set(kernel.OpFault, []uint32{0, 1, ring.UserFaults - 1, ring.UserFaults, ^uint32(0)}[g.IntN(5)])
	case k < 16:
		set(kernel.OpFence)
	case k < 17:
		s.Opcode = []uint32{12, 15, 16, 63, 64, 0x80000001, ^uint32(0)}[g.IntN(6)]
	case k < 18:
		set([]kernel.Opcode{kernel.OpStore, kernel.OpAdd}[g.IntN(2)], g.Uint32(), outside(1))
	case k < 19:
		n := 1 + g.Uint32N(kernel.CopyCap+1)
		switch g.IntN(3) {
		case 0:
			set(kernel.OpLoad, outside(1))
		case 1:
			set(kernel.OpCopy, outside(n), g.Uint32N(eighth), n)
		case 2:
			set(kernel.OpCopy, g.Uint32N(eighth), outside(n), n)
		}
	case k < 20:
		set(kernel.OpStore, g.Uint32(), eighth)
		s.Tenant++
	case k < 21 && g.free < w.WindowLength:
		set(kernel.OpCompareSwap, g.swap()...)
	case k < 22:
		set(kernel.OpPrint)
	case k < 23:
		set(kernel.OpYield, []uint32{0, 1, 2, 255, 256, ^uint32(0)}[g.IntN(6)])
	case k < 24:
		at := g.Uint32N(eighth)
		set(kernel.OpAwait, at, initialWord(w.WindowBase+at)+g.Uint32N(2), []uint32{0, 1, 2, 3, 255, 256}[g.IntN(6)])
	case k < 25:
		g.damaged(&s)
	default:
		g.packed(&s)
	}
	return s
}

// swap are arguments of a compare-swap, half of which find what they expect.
func (g *programGenerator) swap() []uint32 {
	at := g.free
	g.free++
	return []uint32{at, initialWord(g.wave.WindowBase+at) + g.Uint32N(2), g.Uint32()}
}

// packed makes s a packed slot whose parts fit; some leave the window.
func (g *programGenerator) packed(s *ring.Slot) {
	s.Opcode = uint32(kernel.OpPacked)
	eighth := g.wave.WindowLength / 8
	var parts []kerneltest.Part
	for range 1 + g.IntN(kernel.PackedMax) {
		var part kerneltest.Part
		switch g.IntN(6) {
		case 0:
			part = kerneltest.Part{Opcode: uint32(kernel.OpNop)}
		case 1:
			part = kerneltest.Part{Opcode: uint32(kernel.OpLoad), Args: []uint32{g.Uint32N(eighth)}}
		case 2:
			part = kerneltest.Part{Opcode: uint32(kernel.OpAdd), Args: []uint32{g.Uint32N(3), eighth + g.Uint32N(3)}}
		case 3:
			if g.free < g.wave.WindowLength {
				part = kerneltest.Part{Opcode: uint32(kernel.OpStore), Args: []uint32{g.Uint32(), g.free}}
				g.free++
			}
		case 4:
			if g.free < g.wave.WindowLength {
				part = kerneltest.Part{Opcode: uint32(kernel.OpCompareSwap), Args: g.swap()}
			}
		case 5:
			if g.IntN(4) == 0 {
				part = kerneltest.Part{Opcode: uint32(kernel.OpStore), Args: []uint32{1, g.wave.WindowLength}}
			}
		}
		args, ok := kerneltest.Pack(append(parts, part)...)
		if !ok {
			return
		}
		parts = append(parts, part)
		s.Args = args
	}
}

// damaged makes s a packed slot with a wrong byte. Words that a part could
// write without a conflict are not there for such slots, so it has none.
func (g *programGenerator) damaged(s *ring.Slot) {
	s.Opcode = uint32(kernel.OpPacked)
	eighth := g.wave.WindowLength / 8
	s.Args, _ = kerneltest.Pack(kerneltest.Part{Opcode: uint32(kernel.OpLoad), Args: []uint32{g.Uint32N(eighth)}}, kerneltest.Part{Opcode: uint32(kernel.OpNop)}, kerneltest.Part{Opcode: uint32(kernel.OpLoad), Args: []uint32{g.Uint32N(eighth)}})
	at, wrong := g.IntN(8), []uint32{0, 9, 40, 255, 3, 5, 11}
	if at == 0 {
		wrong = wrong[:4]
	}
	s.Args[at/4] = s.Args[at/4]&^(0xFF<<(at%4*8)) | wrong[g.IntN(len(wrong))]<<(at%4*8)
}

// text is the program in the form in which testdata/programs keeps it.
func (p *testProgram) text() string {
	var b strings.Builder
	w := &p.wave
	fmt.Fprintf(&b, "geometry %d %d %d\n", p.geometry.Width, p.geometry.Groups, p.geometry.Chunk)
	fmt.Fprintf(&b, "wave %d %d %d %d %d %d %d\n", w.Entries, w.Chunk, w.ClaimBudget, w.StepBudget, w.Tenant, w.WindowBase, w.WindowLength)
	fmt.Fprintf(&b, "hot %d\n", uint64(p.hot))
	for _, e := range p.schedule {
		fmt.Fprintf(&b, "entry %d %d\n", e.Page(), e.Count())
	}
	for i, s := range p.slots {
		if p.statuses[i] != 0 || s != (ring.Slot{}) {
			fmt.Fprintf(&b, "slot %d %#x %d %d %d %d %v\n", i, uint32(p.statuses[i]), s.Opcode, s.Tenant, s.Priority, s.Sequence,
				strings.Trim(fmt.Sprint(s.Args), "[]"))
		}
	}
	return b.String()
}

// parseProgram reads what text wrote.
func parseProgram(text string) (*testProgram, error) {
	p := &testProgram{slots: make([]ring.Slot, testSlots), statuses: make([]ring.Status, testSlots)}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		var err error
		switch word {
		case "geometry":
			_, err = fmt.Sscan(rest, &p.geometry.Width, &p.geometry.Groups, &p.geometry.Chunk)
		case "wave":
			w := &p.wave
			_, err = fmt.Sscan(rest, &w.Entries, &w.Chunk, &w.ClaimBudget, &w.StepBudget, &w.Tenant, &w.WindowBase, &w.WindowLength)
		case "hot":
			_, err = fmt.Sscan(rest, (*uint64)(&p.hot))
		case "entry":
			var page uint32
			var count int
			_, err = fmt.Sscan(rest, &page, &count)
			p.schedule = append(p.schedule, ring.NewEntry(page, count))
		case "slot":
			var i int
			var s ring.Slot
			var status uint32
			into := []any{&i, &status, &s.Opcode, &s.Tenant, &s.Priority, &s.Sequence}
			for j := range s.Args {
				into = append(into, &s.Args[j])
			}
			if _, err = fmt.Sscan(rest, into...); err == nil && i >= 0 && i < testSlots {
				p.slots[i], p.statuses[i] = s, ring.Status(status)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
	}
	return p, nil
}

// save keeps a failing program, named by its hash, so that every later run of
// the tests begins with it.
func (p *testProgram) save() (path string, err error) {
	text := p.text()
	sum := blake3.Sum256([]byte(text))
	path = filepath.Join("testdata", "programs", hex.EncodeToString(sum[:])+".txt")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// slot is a slot with the given operands.
func slot(op kernel.Opcode, priority uint32, args ...uint32) ring.Slot {
	s := ring.Slot{Opcode: uint32(op), Priority: priority}
	copy(s.Args[:], args)
	return s
}

func TestSavedProgramReadsBackAsItself(t *testing.T) {
	for seed := range uint64(20) {
		text := randomProgram(seed).text()
		p, err := parseProgram(text)
		if err != nil {
			t.Fatal(err)
		}
		if p.text() != text {
			t.Fatalf("seed %d changed", seed)
		}
	}
}
