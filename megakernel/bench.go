package megakernel

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/ring"
)

// DrainBench drains slots resident on the device, turn by turn with a
// yardstick. Status words are set back between the runs, outside the timed part. A
// geometry that the device cannot run, or the program's kernel cannot have, is left out.
func DrainBench(dev gpu.Device, cfg DrainConfig) ([]DrainResult, error) {
	pages := cfg.Slots / ring.PageSlots
	if pages < 1 || pages > ring.MaxPages || cfg.Runs < 1 {
		return nil, fmt.Errorf("megakernel: bench: %d slots, %d runs", cfg.Slots, cfg.Runs)
	}
	var results []DrainResult
	err := dev.Do(func() error {
		b, err := newDrain(dev, &cfg, pages)
		if err != nil {
			return err
		}
		defer b.delete()
		for _, g := range cfg.Geometries {
			if fit, _ := legal(g, deviceLimitsOf(dev), 1, DefaultLoopBudget); fit != g {
				continue
			}
			if _, ok := FusedKernel(g, 1); !ok && cfg.Program != DrainInterpreter {
				continue
			}
			r, err := b.measure(g)
			if err != nil {
				return fmt.Errorf("megakernel: bench %s %s: %w", cfg.Program, g, err)
			}
			results = append(results, r)
		}
		return nil
	})
	return results, err
}

// drainHeapWords is the heap of the benchmark: 4 MiB, more than a core's
// caches and less than a GPU's, with a word of its own for each of many slots.
const drainHeapWords = 1 << 20

// drainAddresses is how many words slots name, with room behind each for an opcode
// that reads several. It is a multiple of 3 and of 4, so that a word is only
// loaded, only stored or only added to.
const drainAddresses = drainHeapWords - 256

// elapsedTimer brackets dispatches with an elapsed-time query. EndTimer waits for the
// result, in nanoseconds, unchecked.
type elapsedTimer interface {
	BeginTimer()
	EndTimer() uint64
}

// drain is the benchmark's ring.
type drain struct {
	dev      gpu.Device
	timer    elapsedTimer
	cfg      *DrainConfig
	catalog  *Catalog
	memory   *memory
	pages    int
	statuses []ring.Status // before a run
	left     []ring.Status // what a run left
	pristine gpu.Buffer    // a buffer of the status words before a run
	zeros    gpu.Buffer    // a buffer of an empty control block
	results  []uint32
	control  []ring.Control
}

// delete frees the ring.
func (b *drain) delete() {
	for _, buffer := range [...]gpu.Buffer{b.pristine, b.zeros} {
		if buffer.Buffer != 0 {
			b.dev.DeleteBuffer(buffer)
		}
	}
	b.memory.delete()
}

// reset sets status words and control block back, by the device itself.
func (b *drain) reset() {
	b.dev.CopyBuffer(b.pristine, 0, b.memory.buffers[ring.BindStatus], 0, len(b.statuses)*ring.WordBytes)
	b.dev.CopyBuffer(b.zeros, 0, b.memory.buffers[ring.BindControl], 0, ring.ControlWords*ring.WordBytes)
}

// initialHeapWord is a word of the heap before the first run.
func initialHeapWord(i int) uint32 { return uint32(i)*2654435761 + 12345 }

func newDrain(dev gpu.Device, cfg *DrainConfig, pages int) (*drain, error) {
	b := &drain{dev: dev, cfg: cfg, catalog: BuiltIn(), pages: pages, control: make([]ring.Control, 1)}
	var ok bool
	if b.timer, ok = dev.(elapsedTimer); !ok {
		return nil, fmt.Errorf("megakernel: the device has no timer: %w", errors.ErrUnsupported)
	}
	var err error
	if cfg.Program == DrainHot {
		if b.catalog, err = benchCatalog(max(cfg.Words, 1)); err != nil {
			return nil, err
		}
	}
	if b.memory, err = newMemory(dev, pages, drainHeapWords, PrintRecords); err != nil {
		return nil, err
	}
	dev.Finish() // the zeros of new buffers are there before they are written over
	slots := make([]ring.Slot, pages*ring.PageSlots)
	for i := range slots {
		s := &slots[i]
		s.Opcode = uint32(b.opcode(i))
		s.Sequence = uint32(i)
		s.Args[0] = uint32(i % drainAddresses)
		s.Args[1] = s.Args[0]
	}
	write(b.memory, ring.BindSlots, 0, slots)
	schedule := make([]ring.Entry, pages)
	for i := range schedule {
		schedule[i] = ring.NewEntry(uint32(i), ring.PageSlots)
	}
	write(b.memory, ring.BindSchedule, 0, schedule)
	heap := make([]uint32, drainHeapWords)
	for i := range heap {
		heap[i] = initialHeapWord(i)
	}
	write(b.memory, ring.BindHeap, 0, heap)
	b.statuses = make([]ring.Status, len(slots))
	b.results = make([]uint32, len(slots))
	for i := range b.statuses {
		b.statuses[i] = ring.NewStatus(ring.Published)
	}
	b.left = make([]ring.Status, len(slots))
	if b.pristine, err = dev.NewBuffer(len(slots) * ring.WordBytes); err == nil {
		b.zeros, err = dev.NewBuffer(ring.ControlWords * ring.WordBytes)
	}
	if err != nil {
		b.delete()
		return nil, err
	}
	dev.Finish() // likewise
	dev.WriteBuffer(b.pristine, 0, bytesOf(b.statuses))
	b.memory.bind()
	return b, dev.Check()
}

// opcode is that of slot i.
func (b *drain) opcode(i int) Opcode {
	four, three := [...]Opcode{OpNop, OpStore, OpAdd, OpLoad}, [...]Opcode{OpStore, OpAdd, OpLoad}
	switch b.cfg.Program {
	case DrainFused3:
		return three[i%3]
	case DrainHot:
		if i%33 == 32 {
			return firstUser + Opcode(i/33%benchUserOpcodes)
		}
		return three[i%3]
	}
	return four[i%4]
}

// timing is how long a run took.
type timing struct {
	begin     time.Time
	end       time.Time
	elapsedNs uint64
	source    TimeSource
}

// contestant is one side of a benchmark: kernels that run one after the other.
type contestant struct {
	kernels []*program
	bare    bool // it counts nothing and sets no status
}

func (b *drain) compile(width uint32, source string, into *contestant) error {
	p, err := compile(b.dev, width, source)
	if err == nil {
		into.kernels = append(into.kernels, p)
	}
	return err
}

// sides compiles the kernels of a geometry.
func (b *drain) sides(g Geometry) (subject, yardstick contestant, err error) {
	batch := b.cfg.Batch
	if batch == 0 {
		batch = fusedBatch
	}
	interpreter := b.catalog.Source(Kernel{Kind: Interpreter, Width: g.Width})
	hot := NewOpcodeSet(OpStore, OpAdd, OpLoad)
	if b.cfg.Program == DrainFused4 {
		hot |= 1 << OpNop
	}
	if b.cfg.Program != DrainInterpreter {
		k, _ := FusedKernel(g, hot)
		if b.cfg.Program != DrainHot {
			k = k.Exact() // as the engine does when all slots are hot
		}
		err = b.compile(g.Width, b.catalog.source(k, batch), &subject)
	}
	if err == nil && (b.cfg.Program == DrainInterpreter || b.cfg.Program == DrainHot) {
		err = b.compile(g.Width, interpreter, &subject)
	}
	if err == nil && b.cfg.Program == DrainHot {
		err = b.compile(g.Width, interpreter, &yardstick)
	} else if err == nil {
		yardstick.bare = true
		err = b.compile(g.Width, bareSource(g.Width), &yardstick)
	}
	return subject, yardstick, err
}

// verify reads what a run of the subject left and reports the first wrong
// status or loaded word.
func (b *drain) verify() error {
	read(b.memory, ring.BindStatus, 0, b.left)
	read(b.memory, ring.BindResults, 0, b.results)
	done := ring.NewStatus(ring.Published).Attempted().With(ring.Done)
	for i, status := range b.left {
		if status != done {
			return fmt.Errorf("slot %d is %s", i, status)
		}
		if want := initialHeapWord(i % drainAddresses); b.opcode(i) == OpLoad && b.results[i] != want {
			return fmt.Errorf("slot %d loaded %d, want %d", i, b.results[i], want)
		}
	}
	return b.dev.Check()
}

// measure alternates the two sides and checks what the subject's first run
// left. The first pairs of runs warm up.
func (b *drain) measure(g Geometry) (DrainResult, error) {
	r := DrainResult{Geometry: g, Slots: b.pages * ring.PageSlots}
	subject, yardstick, err := b.sides(g)
	defer func() {
		for _, p := range append(subject.kernels, yardstick.kernels...) {
			b.dev.DeleteProgram(p.id)
		}
	}()
	if err != nil {
		return r, err
	}
	var ns, yardNs []uint64
	for run := range b.cfg.Runs + warmRuns {
		t, err := b.run(g, &subject)
		if err == nil && run == 0 {
			err = b.verify()
		}
		if err != nil {
			return r, err
		}
		if run == 0 {
			b.warm(g, &subject)
		}
		y, err := b.run(g, &yardstick)
		if err != nil {
			return r, err
		}
		r.TimeSource = t.source
		if run >= warmRuns {
			ns, yardNs = append(ns, t.elapsedNs), append(yardNs, y.elapsedNs)
		}
	}
	slices.Sort(ns)
	slices.Sort(yardNs)
	r.Ns, r.Median = ns[0], ns[len(ns)/2]
	r.YardstickNs, r.YardstickMedian = yardNs[0], yardNs[len(yardNs)/2]
	return r, nil
}

// dispatch starts the kernels of one side. The barrier before whatever reads what
// they leave is the caller's.
func (b *drain) dispatch(g Geometry, side *contestant, wave Wave) {
	b.memory.bindSchedule(false)
	for i, p := range side.kernels {
		if i > 0 {
			wave.Cold = true
			b.dev.Barrier()
			b.memory.bindSchedule(true)
		}
		p.set(b.dev, &wave)
		b.dev.Dispatch(p.id, g.Groups)
	}
}

// warmTime is how long a GPU is kept busy before the runs of a geometry. Its
// clocks fall while kernels are compiled and results checked, and take their time to rise.
const warmTime = 150 * time.Millisecond

// warm keeps a GPU busy.
func (b *drain) warm(g Geometry, side *contestant) {
	for begin := time.Now(); b.cfg.Lead > 0 && time.Since(begin) < warmTime; {
		for range 32 {
			b.reset()
			b.dispatch(g, side, b.wave(g))
			b.dev.Barrier()
		}
		b.dev.Finish()
	}
}

// wave are the parameters of a drain.
func (b *drain) wave(g Geometry) Wave {
	return Wave{
		Entries:      uint32(b.pages),
		Chunk:        g.Chunk,
		ClaimBudget:  claimBudget(g, 1, DefaultLoopBudget),
		StepBudget:   1,
		WindowLength: drainHeapWords,
	}
}

// run drains the ring once by one side and checks that all of it ran.
func (b *drain) run(g Geometry, side *contestant) (timing, error) {
	wave := b.wave(g)
	for range b.cfg.Lead {
		b.reset()
		b.dispatch(g, side, wave)
		b.dev.Barrier()
	}
	b.reset()
	side.kernels[0].set(b.dev, &wave)
	b.dev.Barrier()
	b.dev.Finish() // the copies of the reset are over, whichever engine makes them
	t := timing{begin: time.Now()}
	b.timer.BeginTimer()
	b.dispatch(g, side, wave)
	device := b.timer.EndTimer()
	b.dev.Barrier()
	b.dev.Finish()
	t.end = time.Now()
	t.elapsedNs, t.source = elapsed(device, uint64(t.end.Sub(t.begin)))
	read(b.memory, ring.BindControl, 0, b.control)
	if err := b.dev.Check(); err != nil {
		return t, err
	}
	if c := &b.control[0]; !side.bare && int(c.Executed) != len(b.statuses) {
		read(b.memory, ring.BindStatus, 0, b.left[:1])
		return t, fmt.Errorf("%d of %d slots ran, %d faulted, %d unreached, %d cold, %d chunks of %d each; the first slot is %s",
			c.Executed, len(b.statuses), c.Faulted, c.Unreached, c.Cold, c.Chunks, c.Chunk, b.left[0])
	}
	return t, nil
}
