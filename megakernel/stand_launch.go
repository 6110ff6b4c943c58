package megakernel

import (
	"fmt"
	"time"

	"ringmaster/ring"
)

// Fits reports whether a launch of the load drains it at exactly this geometry,
// in dispatches of depth slots, 0 for one dispatch: within the device's limits and
// within the loop budget of a dispatch.
func (s *Stand) Fits(g Geometry, depth uint32) bool {
	steps := s.rowSteps()
	if fit, _ := legal(g, s.limits, steps, s.cfg.LoopBudget); fit != g {
		return false
	}
	positions := uint64(s.pagesOf(depth)) * ring.PageSlots
	return uint64(claimBudget(g, steps, s.cfg.LoopBudget))*uint64(g.Groups)*uint64(g.Chunk) >= positions &&
		s.pagesOf(depth)*standWaves >= s.pages
}

// rowSteps is what a row of the load costs besides its own iterations.
func (s *Stand) rowSteps() uint32 {
	return s.cfg.Catalog.RowCost(Kernel{Kind: Interpreter}, s.opcodes, s.steps) - rowIterations
}

// pagesOf is the pages of a dispatch of depth slots.
func (s *Stand) pagesOf(depth uint32) int {
	pages := (int(depth) + ring.PageSlots - 1) / ring.PageSlots
	if pages == 0 || pages > s.pages {
		return s.pages
	}
	return pages
}

// Fingerprint is that of the kernel of a width, as reports of launches name it.
func (s *Stand) Fingerprint(width uint32) [32]byte {
	return Fingerprint(s.cfg.Catalog.Source(Kernel{Kind: Interpreter, Width: width}))
}

// Build compiles the kernel of a width now, so that no launch waits for it.
func (s *Stand) Build(width uint32) error {
	return s.dev.Do(func() error {
		_, err := s.program(width)
		return err
	})
}

// Launch drains the load once. depth as for Fits, which it has to satisfy.
func (s *Stand) Launch(g Geometry, depth uint32) (r StandReport, err error) {
	if s.slots == 0 || !s.Fits(g, depth) {
		return r, fmt.Errorf("megakernel: stand: %d slots at %s, %d a dispatch, are beyond the device's limits or a dispatch's loop budget: %w", s.slots, g, depth, ErrStand)
	}
	err = s.dev.Do(func() error {
		p, err := s.program(g.Width)
		if err != nil {
			return err
		}
		s.schedule(s.pagesOf(depth))
		return s.drain(p, g, &r)
	})
	return r, err
}

// Warm keeps the device busy with launches for a time: a GPU's clocks fall while
// kernels are compiled, and take their time to rise. Arguments as for Launch.
func (s *Stand) Warm(g Geometry, depth uint32, span time.Duration) error {
	for begin := time.Now(); time.Since(begin) < span; {
		if _, err := s.Launch(g, depth); err != nil {
			return err
		}
	}
	return nil
}

// program is the kernel of a width. Its first dispatch, which some drivers
// compile at, is over when it is returned.
func (s *Stand) program(width uint32) (*program, error) {
	if p := s.programs[width]; p != nil {
		return p, nil
	}
	p, err := compile(s.dev, width, s.cfg.Catalog.Source(Kernel{Kind: Interpreter, Width: width}))
	if err != nil {
		return nil, err
	}
	s.programs[width] = p
	s.memory.bind()
	p.set(s.dev, &Wave{Chunk: 1, ClaimBudget: 1, WindowLength: 1})
	s.dev.Dispatch(p.id, 1)
	s.dev.Barrier()
	s.dev.Finish()
	return p, s.dev.Check()
}

// schedule has the device keep schedules for dispatches of some pages.
func (s *Stand) schedule(pages int) {
	if s.depth == pages {
		return
	}
	s.depth, s.entries = pages, s.entries[:0]
	_, size := s.memory.place(ring.BindSchedule, 0)
	for first := 0; first < s.pages; first += pages {
		var part []ring.Entry
		for page := first; page < min(first+pages, s.pages); page++ {
			part = append(part, ring.NewEntry(uint32(page), min(s.slots-page*ring.PageSlots, ring.PageSlots)))
		}
		write(s.memory, ring.BindSchedule, len(s.entries)*size/ring.WordBytes, part)
		s.entries = append(s.entries, uint32(len(part)))
	}
	s.dev.Finish()
}

// drain runs the dispatches of a launch, times them as the engine times a wave,
// and checks that they ran every slot.
func (s *Stand) drain(p *program, g Geometry, r *StandReport) error {
	m, dev := s.memory, s.dev
	dev.CopyBuffer(s.pristine, 0, m.buffers[ring.BindStatus], 0, s.pages*ring.PageSlots*ring.WordBytes)
	dev.CopyBuffer(s.zeros, 0, m.buffers[ring.BindControl], 0, standWaves*controlStride)
	m.bind()
	wave := Wave{
		Chunk: g.Chunk, ClaimBudget: claimBudget(g, s.rowSteps(), s.cfg.LoopBudget),
		StepBudget: s.steps, WindowLength: uint32(s.cfg.WindowWords),
	}
	dev.Barrier()
	dev.Finish()

	begin := time.Now()
	if s.queries[0].Query != 0 {
		dev.Timestamp(s.queries[0])
	}
	for i, entries := range s.entries {
		for _, binding := range [...]int{ring.BindControl, ring.BindSchedule} {
			offset, size := m.place(binding, i)
			dev.BindStorage(uint32(binding), m.buffers[binding], offset, size)
		}
		wave.Entries = entries
		p.set(dev, &wave)
		dev.Dispatch(p.id, g.Groups)
		dev.Barrier()
	}
	if s.queries[1].Query != 0 {
		dev.Timestamp(s.queries[1])
	}
	if err := s.wait(); err != nil {
		return err
	}
	r.WallNs, r.Dispatches = uint64(time.Since(begin)), len(s.entries)
	device := uint64(0)
	if s.queries[0].Query != 0 {
		t0, ok0 := dev.QueryResult(s.queries[0])
		t1, ok1 := dev.QueryResult(s.queries[1])
		if ok0 && ok1 && t1 > t0 {
			device = t1 - t0
		}
	}
	r.Ns, r.TimeSource = elapsed(device, r.WallNs)
	return s.check(g)
}

// wait waits for the device as the engine does, by a fence.
func (s *Stand) wait() error {
	fence := s.dev.InsertFence()
	defer s.dev.DeleteFence(fence)
	s.dev.Flush()
	slice := uint64(0)
	if s.memory.direct {
		slice = uint64(fenceWait)
	}
	for {
		if done, err := s.dev.WaitFence(fence, slice); done || err != nil {
			return err
		}
	}
}

// check adds up what the dispatches counted.
func (s *Stand) check(g Geometry) error {
	var executed, faulted, unreached, again uint32
	for i := range s.entries {
		s.dev.ReadBuffer(s.memory.buffers[ring.BindControl], i*controlStride, bytesOf(s.control))
		c := &s.control[0]
		executed, faulted, unreached, again = executed+c.Executed, faulted+c.Faulted, unreached+c.Unreached, again+c.Again
	}
	if err := s.dev.Check(); err != nil {
		return err
	}
	if int(executed) == s.slots {
		return nil
	}
	if faulted > 0 || again > 0 {
		return fmt.Errorf("megakernel: stand: %d of %d slots fault, %d ask to run again: %w", faulted, s.slots, again, ErrStand)
	}
	return fmt.Errorf("megakernel: stand: %d of %d slots ran at %s, %d unreached: %w", executed, s.slots, g, unreached, ErrDevice)
}
