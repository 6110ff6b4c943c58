package megakernel

import (
	"fmt"
	"slices"

	"ringmaster/ring"
)

// DrainResult is the time one geometry takes to drain a ring of resident
// slots, beside a bare kernel on the same slots.
type DrainResult struct {
	Geometry   Geometry
	Slots      int
	RingNs     uint64     // best run of the interpreter
	BareNs     uint64     // best run of the bare kernel
	RingMedian uint64     // median run, ns
	BareMedian uint64     // median run, ns
	TimeSource TimeSource // clock of both
}

// SlotsPerSecond is the rate of the interpreter's best run, and that of the
// bare kernel's.
func (r *DrainResult) SlotsPerSecond() (drain, bare float64) {
	return float64(r.Slots) * 1e9 / float64(r.RingNs), float64(r.Slots) * 1e9 / float64(r.BareNs)
}

// Defaults of a drain benchmark: long enough to hide a dispatch, short enough
// for two processor cores.
const (
	DrainSlots = 1 << 20
	DrainRuns  = 5
)

// DrainGeometries is a small product of widths, groups and chunks that shows
// the slope in each direction.
func DrainGeometries() []Geometry {
	return []Geometry{
		{64, 8, 256}, {64, 8, 1024}, {256, 8, 1024}, {256, 32, 1024}, {512, 8, 4096}, {1024, 8, 4096},
	}
}

// DrainBench drains slots resident on the device, nop, store, add and load in
// turn, once with the interpreter and once with a bare four-opcode kernel of
// the same slot layout, alternating, runs times for each geometry. Status words are set
// back between the runs, outside the timed part. A geometry that the device
// cannot run is left out. slots is rounded down to whole pages.
func DrainBench(dev Device, slots, runs int, geometries []Geometry) ([]DrainResult, error) {
	pages := slots / ring.PageSlots
	if pages < 1 || pages > ring.MaxPages || runs < 1 {
		return nil, fmt.Errorf("megakernel: bench: %d slots, %d runs", slots, runs)
	}
	var results []DrainResult
	err := dev.Do(func() error {
		b, err := newDrain(dev, pages)
		if err != nil {
			return err
		}
		defer b.memory.delete()
		for _, g := range geometries {
			if fit, _ := legal(g, deviceLimitsOf(dev), 1, DefaultLoopBudget); fit != g {
				continue
			}
			r, err := b.measure(g, runs)
			if err != nil {
				return fmt.Errorf("megakernel: bench %s: %w", g, err)
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

// drain is the benchmark's ring.
type drain struct {
	dev      Device
	memory   *memory
	pages    int
	statuses []ring.Status
	control  []ring.Control
}

func newDrain(dev Device, pages int) (*drain, error) {
	m, err := newMemory(dev, pages, drainHeapWords, PrintRecords)
	if err != nil {
		return nil, err
	}
	b := &drain{dev: dev, memory: m, pages: pages, control: make([]ring.Control, 1)}
	slots := make([]ring.Slot, pages*ring.PageSlots)
	mix := [...]Opcode{OpNop, OpStore, OpAdd, OpLoad}
	for i := range slots {
		s := &slots[i]
		s.Opcode = uint32(mix[i%len(mix)])
		s.Sequence = uint32(i)
		s.Args[0] = uint32(i % drainHeapWords)
		s.Args[1] = uint32(i % drainHeapWords)
	}
	write(m, ring.BindSlots, 0, slots)
	schedule := make([]ring.Entry, pages)
	for i := range schedule {
		schedule[i] = ring.NewEntry(uint32(i), ring.PageSlots)
	}
	write(m, ring.BindSchedule, 0, schedule)
	b.statuses = make([]ring.Status, len(slots))
	for i := range b.statuses {
		b.statuses[i] = ring.NewStatus(ring.Published)
	}
	m.bind()
	return b, dev.Check()
}

// measure alternates the two kernels. The first pair of runs warms up.
func (b *drain) measure(g Geometry, runs int) (DrainResult, error) {
	r := DrainResult{Geometry: g, Slots: b.pages * ring.PageSlots}
	interpreter, err := compile(b.dev, g.Width, Source(g.Width))
	if err != nil {
		return r, err
	}
	defer b.dev.DeleteProgram(interpreter.id)
	bare, err := compile(b.dev, g.Width, bareSource(g.Width))
	if err != nil {
		return r, err
	}
	defer b.dev.DeleteProgram(bare.id)

	wave := Wave{
		Entries:      uint32(b.pages),
		Chunk:        g.Chunk,
		ClaimBudget:  claimBudget(g, 1, DefaultLoopBudget),
		StepBudget:   1,
		WindowLength: drainHeapWords,
	}
	var ringNs, bareNs []uint64
	for run := range runs + 1 {
		write(b.memory, ring.BindStatus, 0, b.statuses)
		b.dev.Finish()
		t, err := b.memory.dispatch(interpreter, g.Groups, &wave, b.control)
		if err != nil {
			return r, err
		}
		if c := &b.control[0]; int(c.Executed) != r.Slots {
			return r, fmt.Errorf("%d of %d slots ran, %d tickets of %d each", c.Executed, r.Slots, c.Chunks, c.Chunk)
		}
		u, err := b.memory.dispatch(bare, g.Groups, &wave, b.control)
		if err != nil {
			return r, err
		}
		r.TimeSource = t.source
		if run > 0 {
			ringNs, bareNs = append(ringNs, t.elapsedNs), append(bareNs, u.elapsedNs)
		}
	}
	slices.Sort(ringNs)
	slices.Sort(bareNs)
	r.RingNs, r.RingMedian = ringNs[0], ringNs[len(ringNs)/2]
	r.BareNs, r.BareMedian = bareNs[0], bareNs[len(bareNs)/2]
	return r, nil
}
