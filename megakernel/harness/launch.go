package harness

import (
	"fmt"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/memory"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/program"
	"ringmaster/ring"
)

// Fits reports whether a launch of the load drains it at exactly this geometry,
// in dispatches of its depth, 0 for one dispatch: within the device's limits and
// within the loop budget of a dispatch.
func (s *Harness) Fits(g policy.Geometry) bool {
	steps := s.rowSteps()
	if fit, _ := kernel.Fit(g, s.limits, steps, kernel.DefaultLoopBudget); fit != g {
		return false
	}
	positions := uint64(s.pagesOf(g.Depth)) * ring.PageSlots
	return uint64(kernel.ClaimBudget(g, steps, kernel.DefaultLoopBudget))*uint64(g.Groups)*uint64(g.Chunk) >= positions &&
		s.pagesOf(g.Depth)*mostDispatches >= s.pages
}

// rowSteps is what a row of the load costs besides its own iterations.
func (s *Harness) rowSteps() uint32 {
	return s.cfg.Catalog.RowCost(kernel.Kernel{Kind: kernel.Interpreter}, s.opcodes, s.steps) - kernel.RowIterations
}

// pagesOf is the pages of a dispatch of depth slots.
func (s *Harness) pagesOf(depth uint32) int {
	pages := (int(depth) + ring.PageSlots - 1) / ring.PageSlots
	if pages == 0 || pages > s.pages {
		return s.pages
	}
	return pages
}

// Build compiles the interpreter of a width, once.
func (s *Harness) Build(width uint32) (*Chain, error) {
	if p := s.programs[width]; p != nil {
		return p, nil
	}
	p, err := s.Compile(width, true, s.cfg.Catalog.Source(kernel.Kernel{Kind: kernel.Interpreter, Width: width}))
	if err == nil {
		s.programs[width] = p
	}
	return p, err
}

// Launch drains the load once by the interpreter, at a geometry that satisfies Fits.
func (s *Harness) Launch(g policy.Geometry) (r Report, err error) {
	p, err := s.Build(g.Width)
	if err != nil {
		return r, err
	}
	return s.LaunchBy(p, g)
}

// LaunchBy drains the load once by kernels that Compile built, at a geometry that satisfies Fits.
func (s *Harness) LaunchBy(p *Chain, g policy.Geometry) (r Report, err error) {
	if s.slots == 0 || !s.Fits(g) {
		return r, fmt.Errorf("harness: %d slots at %s are beyond the device's limits or a dispatch's loop budget: %w", s.slots, g, ErrLoad)
	}
	err = s.dev.Do(func() error { return s.launch(p, g, &r) })
	return r, err
}

func (s *Harness) launch(p *Chain, g policy.Geometry, r *Report) error {
	s.schedule(s.pagesOf(g.Depth))
	for range s.cfg.Lead {
		s.reset()
		s.dispatch(p, g)
	}
	return s.drain(p, g, r)
}

// Left reads the status words and the results of the load as the last launch left them. Each slice is as long as the load.
func (s *Harness) Left(statuses []ring.Status, results []uint32) error {
	return s.dev.Do(func() error {
		memory.Read(s.memory, ring.BindStatus, 0, statuses)
		memory.Read(s.memory, ring.BindResults, 0, results)
		return s.dev.Check()
	})
}

// Warm keeps the device busy with launches for a time: a GPU's clocks fall while
// kernels are compiled, and take their time to rise. Arguments as for Launch.
func (s *Harness) Warm(g policy.Geometry, span time.Duration) error {
	for begin := time.Now(); time.Since(begin) < span; {
		if _, err := s.Launch(g); err != nil {
			return err
		}
	}
	return nil
}

// Chain is kernels of one width that drain a load together.
type Chain struct {
	kernels []*program.Program
	counts  bool
}

func (p *Chain) delete(dev gpu.Device) {
	for _, k := range p.kernels {
		dev.DeleteProgram(k.ID)
	}
}

// Compile builds kernels of a width that run one after the other, each on the list of slots that the
// kernel before it left cold. counts tells whether they count what they ran; what does not count is not
// checked. Their first dispatch, which some drivers compile at, is over when they are returned.
func (s *Harness) Compile(width uint32, counts bool, sources ...string) (*Chain, error) {
	chain := &Chain{counts: counts}
	return chain, s.dev.Do(func() error {
		for _, source := range sources {
			p, err := program.Compile(s.dev, width, source)
			if err != nil {
				chain.delete(s.dev)
				return err
			}
			chain.kernels = append(chain.kernels, p)
			s.memory.Bind()
			p.SetUniforms(s.dev, &kernel.Wave{Chunk: 1, ClaimBudget: 1, WindowLength: 1})
			s.dev.Dispatch(p.ID, 1)
			s.dev.Barrier()
			s.dev.Finish()
		}
		return s.dev.Check()
	})
}

// Delete frees what Compile built.
func (s *Harness) Delete(p *Chain) error {
	return s.dev.Do(func() error {
		p.delete(s.dev)
		return s.dev.Check()
	})
}

// schedule has the device keep schedules for dispatches of some pages.
func (s *Harness) schedule(pages int) {
	if s.depth == pages {
		return
	}
	s.depth, s.entries = pages, s.entries[:0]
	_, size := s.memory.Place(ring.BindSchedule, 0)
	for first := 0; first < s.pages; first += pages {
		var part []ring.Entry
		for page := first; page < min(first+pages, s.pages); page++ {
			part = append(part, ring.NewEntry(uint32(page), min(s.slots-page*ring.PageSlots, ring.PageSlots)))
		}
		memory.Write(s.memory, ring.BindSchedule, len(s.entries)*size/ring.WordBytes, part)
		s.entries = append(s.entries, uint32(len(part)))
	}
	s.dev.Finish()
}

// reset sets status words and control blocks back, by the device itself.
func (s *Harness) reset() {
	m := s.memory
	s.dev.CopyBuffer(s.pristine, 0, m.Buffers[ring.BindStatus], 0, s.pages*ring.PageSlots*ring.WordBytes)
	s.dev.CopyBuffer(s.zeros, 0, m.Buffers[ring.BindControl], 0, mostDispatches*memory.ControlStride)
	m.Bind()
}

// dispatch starts the dispatches of a launch, with a barrier behind each.
func (s *Harness) dispatch(p *Chain, g policy.Geometry) {
	m, dev := s.memory, s.dev
	wave := kernel.Wave{
		Chunk: g.Chunk, ClaimBudget: kernel.ClaimBudget(g, s.rowSteps(), kernel.DefaultLoopBudget),
		StepBudget: s.steps, WindowLength: uint32(s.cfg.WindowWords),
	}
	for i, entries := range s.entries {
		offset, size := m.Place(ring.BindControl, i)
		dev.BindStorage(uint32(ring.BindControl), m.Buffers[ring.BindControl], offset, size)
		wave.Entries, wave.Cold = entries, false
		for _, k := range p.kernels {
			m.BindSchedule(i, wave.Cold)
			k.SetUniforms(dev, &wave)
			dev.Dispatch(k.ID, g.Groups)
			dev.Barrier()
			wave.Cold = true
		}
	}
}

// drain runs the dispatches of a launch, times them as the engine times a wave,
// and checks that they ran every slot.
func (s *Harness) drain(p *Chain, g policy.Geometry, r *Report) error {
	dev := s.dev
	s.reset()
	dev.Barrier()
	dev.Finish()

	begin := time.Now()
	if s.queries[0].Query != 0 {
		dev.Timestamp(s.queries[0])
	}
	s.dispatch(p, g)
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
	r.Ns, r.TimeSource = gpu.Elapsed(device, r.WallNs)
	if !p.counts {
		return dev.Check()
	}
	return s.check(g)
}

// fenceSlice bounds one wait for a fence where a wait takes no processor from the launch.
const fenceSlice = 20 * time.Microsecond

// wait waits for the device as the engine does, by a fence.
func (s *Harness) wait() error {
	fence := s.dev.InsertFence()
	defer s.dev.DeleteFence(fence)
	s.dev.Flush()
	slice := uint64(0)
	if s.memory.Direct {
		slice = uint64(fenceSlice)
	}
	for {
		if done, err := s.dev.WaitFence(fence, slice); done || err != nil {
			return err
		}
	}
}

// check adds up what the dispatches counted.
func (s *Harness) check(g policy.Geometry) error {
	var executed, faulted, unreached, again uint32
	for i := range s.entries {
		s.dev.ReadBuffer(s.memory.Buffers[ring.BindControl], i*memory.ControlStride, gpu.Bytes(s.control))
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
		return fmt.Errorf("harness: %d of %d slots fault, %d ask to run again: %w", faulted, s.slots, again, ErrLoad)
	}
	return fmt.Errorf("harness: %d of %d slots ran at %s, %d unreached: %w", executed, s.slots, g, unreached, ErrDevice)
}
