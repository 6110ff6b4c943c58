package main

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"ringmaster/megakernel/harness"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/userop"
	"ringmaster/ring"
)

// drainProgram is what a drain runs and beside what.
type drainProgram uint8

const (
	// drainInterpreter is nop, store, add and load in turn by the interpreter with
	// all built-in opcodes, beside a bare kernel: the four opcodes and nothing else.
	drainInterpreter drainProgram = iota
	// drainFused4 is nop, store, add and load in turn by a fused kernel of the four opcodes, beside the bare kernel.
	drainFused4
	// drainFused3 is store, add and load by a fused kernel of those, beside the bare kernel.
	drainFused3
	// drainHot is a program of 32 opcodes in which store, add and load are 97 of
	// 100 slots, by a fused kernel of those and the interpreter behind it, beside the
	// interpreter alone. The opcodes that operators would add need many registers.
	drainHot
)

// drainConfig is drains of one program at several geometries.
type drainConfig struct {
	program    drainProgram
	slots      int // rounded down to whole pages
	runs       int // timed runs of either side for each geometry
	geometries []policy.Geometry
	lead       int // untimed drains right before each timed one, so that a GPU is at its full clock
	words      int // drainHot: words that each of the further opcodes holds in registers
}

// drainHeapWords is the window: 4 MiB, more than a core's caches and less than a GPU's, with a word of its
// own for each of many slots.
const drainHeapWords = 1 << 20

// drainAddresses is how many words slots name, with room behind each for an opcode
// that reads several. It is a multiple of 3 and of 4, so that a word is only
// loaded, only stored or only added to.
const drainAddresses = drainHeapWords - 256

// drain is slots that are drained again and again by either side.
type drain struct {
	*session
	drainConfig
	catalog *kernel.Catalog
	stand   *harness.Harness
}

// newDrain puts the slots of a program on the device. The caller closes the stand.
func newDrain(s *session, cfg drainConfig) (*drain, error) {
	b := &drain{session: s, drainConfig: cfg, catalog: kernel.BuiltIn()}
	b.slots = cfg.slots / ring.PageSlots * ring.PageSlots
	var err error
	if cfg.program == drainHot {
		if b.catalog, err = opcodeCatalog(max(cfg.words, 1)); err != nil {
			return nil, err
		}
	}
	b.stand, err = harness.New(s.device, harness.Config{Catalog: b.catalog, Slots: b.slots, WindowWords: drainHeapWords, Lead: cfg.lead})
	if err != nil {
		return nil, err
	}
	slots := make([]ring.Slot, b.slots)
	for i := range slots {
		slots[i] = ring.Slot{Opcode: uint32(b.opcode(i)), Args: [12]uint32{uint32(i % drainAddresses), uint32(i % drainAddresses)}}
	}
	heap := make([]uint32, drainHeapWords)
	for i := range heap {
		heap[i] = initialHeapWord(i)
	}
	if err := b.stand.Load(slots, heap); err != nil {
		_ = b.stand.Close()
		return nil, err
	}
	return b, nil
}

// initialHeapWord is a word of the heap before the first run.
func initialHeapWord(i int) uint32 { return uint32(i)*2654435761 + 12345 }

// opcode is that of slot i.
func (b *drain) opcode(i int) kernel.Opcode {
	four := [...]kernel.Opcode{kernel.OpNop, kernel.OpStore, kernel.OpAdd, kernel.OpLoad}
	switch b.program {
	case drainFused3:
		return four[1+i%3]
	case drainHot:
		if i%33 == 32 {
			return firstUserOpcode + kernel.Opcode(i/33%userOpcodes)
		}
		return four[1+i%3]
	}
	return four[i%4]
}

// bareSource is the body of the bare kernel.
//
//go:embed bare.comp
var bareSource string

// sides compiles the kernels of a geometry. The caller deletes them.
func (b *drain) sides(g policy.Geometry) (subject, yardstick *harness.Chain, err error) {
	interpreter := b.catalog.Source(kernel.Kernel{Kind: kernel.Interpreter, Width: g.Width})
	var sources []string
	if b.program != drainInterpreter {
		hot := kernel.NewOpcodeSet(kernel.OpStore, kernel.OpAdd, kernel.OpLoad)
		if b.program == drainFused4 {
			hot |= 1 << kernel.OpNop
		}
		k, _ := kernel.FusedKernel(g, hot)
		if b.program != drainHot {
			k = k.Exact() // as the engine does when all slots are hot
		}
		sources = append(sources, b.catalog.Source(k))
	}
	beside, counts := kernel.SourceOf(g.Width, bareSource), false
	if b.program == drainInterpreter || b.program == drainHot {
		sources = append(sources, interpreter)
	}
	if b.program == drainHot {
		beside, counts = interpreter, true
	}
	if subject, err = b.stand.Compile(g.Width, true, sources...); err != nil {
		return nil, nil, err
	}
	if yardstick, err = b.stand.Compile(g.Width, counts, beside); err != nil {
		_ = b.stand.Delete(subject)
	}
	return subject, yardstick, err
}

// verify reports the first wrong status or loaded word that a run of the subject left.
func (b *drain) verify() error {
	statuses, results := make([]ring.Status, b.slots), make([]uint32, b.slots)
	if err := b.stand.Left(statuses, results); err != nil {
		return err
	}
	done := ring.NewStatus(ring.Published).Attempted().With(ring.Done)
	for i, status := range statuses {
		if status != done {
			return fmt.Errorf("slot %d is %s", i, status)
		}
		if want := initialHeapWord(i % drainAddresses); b.opcode(i) == kernel.OpLoad && results[i] != want {
			return fmt.Errorf("slot %d loaded %d, want %d", i, results[i], want)
		}
	}
	return nil
}

// drainWarm is how long a GPU is kept busy before the runs of a geometry. Its
// clocks fall while kernels are compiled and results checked, and take their time to rise.
const drainWarm = 150 * time.Millisecond

// measure runs both sides of a geometry by turns and checks what the subject's first run left. Its rounds are
// nanoseconds: the subject's, and the yardstick's.
func (b *drain) measure(g policy.Geometry) (rounds, error) {
	subject, yardstick, err := b.sides(g)
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = b.stand.Delete(subject), b.stand.Delete(yardstick) }()
	side := func(p *harness.Chain) func() (float64, error) {
		return func() (float64, error) {
			r, err := b.stand.LaunchBy(p, g)
			return float64(r.Ns), err
		}
	}
	ours, theirs := side(subject), side(yardstick)
	if _, err := ours(); err != nil {
		return nil, err
	}
	if err := b.verify(); err != nil {
		return nil, err
	}
	for begin := time.Now(); b.lead > 0 && time.Since(begin) < drainWarm; {
		if _, err := ours(); err != nil {
			return nil, err
		}
	}
	if _, err := exactly(2).take(b.ctx, ours, theirs); err != nil { // warms up
		return nil, err
	}
	return exactly(b.runs).take(b.ctx, ours, theirs)
}

// drainRows reports drains: every geometry that the device can run, and the best of either side.
func drainRows(s *session, cfg drainConfig, name, yardstick string) error {
	b, err := newDrain(s, cfg)
	if err != nil {
		return err
	}
	defer b.stand.Close()
	var best, bestYardstick float64
	for _, g := range cfg.geometries {
		if _, fusible := kernel.FusedKernel(g, 1); !b.stand.Fits(g) || !fusible && cfg.program != drainInterpreter {
			continue
		}
		r, err := b.measure(g)
		if err != nil {
			return fmt.Errorf("%s at %s: %w", name, g, err)
		}
		ns, yardNs := r.median(0), r.median(1)
		if s.device.Info().Software { // on two cores that other processes use too, only the best run is meaningful
			ns, yardNs = r.least(0), r.least(1)
		}
		value, yard := float64(b.slots)*1e9/ns, float64(b.slots)*1e9/yardNs
		s.row(row{Name: fmt.Sprintf("%s/%s", name, g), Value: value, Unit: "slots/s", Yardstick: yardstick, YardstickValue: yard})
		best, bestYardstick = max(best, value), max(bestYardstick, yard)
	}
	s.row(row{Name: name + "/best", Value: best, Unit: "slots/s", Yardstick: "best of the " + yardstick, YardstickValue: bestYardstick})
	return nil
}

// userOpcodes is how many opcodes a drain adds to the built-in ones, to make a program of 32.
var userOpcodes = 32 - len(kernel.BuiltIn().All().Opcodes())

// firstUserOpcode is the first of the opcodes that a drain adds.
const firstUserOpcode = kernel.Opcode(userop.MinID)

// opcodeCatalog is the built-in opcodes and as many generated ones as make 32.
// Each of these reads words words of the window, keeps them all alive through
// rounds of mixing and adds them to its result, so that it needs about as many
// registers as words.
func opcodeCatalog(words int) (*kernel.Catalog, error) {
	var ops []userop.Opcode
	for i := range userOpcodes {
		op, err := userop.Parse(fmt.Sprintf("bench%d.glsl", i), []byte(opcodeFile(userop.MinID+i, words)))
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return kernel.NewCatalog(ops)
}

// opcodeFile is the file of a generated opcode.
func opcodeFile(id, words int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "//! id: %d\n//! name: mix%d\n//! operands: address, seed\n//! side-effects: no\n//! idempotent: yes\n\n", id, id)
	for i := range words {
		fmt.Fprintf(&b, "uint v%d = load(address + %du) ^ seed;\n", i, i)
	}
	const rounds = 3
	for round := range rounds {
		for i := range words {
			j := (i + 1 + round*5 + id) % words
			fmt.Fprintf(&b, "v%d = v%d * %du + (v%d >> %du);\n", i, i, uint32(2654435761)+uint32(id*words+i)*2, j, 1+(id+i)%13)
		}
	}
	b.WriteString("uint sum = seed;\n")
	for i := range words {
		fmt.Fprintf(&b, "sum = sum * %du + v%d;\n", 2*id+1, i)
	}
	b.WriteString("result(sum);\n")
	return b.String()
}
