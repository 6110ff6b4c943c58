package megakernel

import "ringmaster/megakernel/kernelcache"

// shape chooses the kernel and the geometry of a wave: the wanted ones if the kernel is
// ready, otherwise those of the queue's wave before, or an interpreter. The report says
// which and why. Called on the pump's goroutine, not the device's thread.
func (e *Engine) shape(f *flight) error {
	q, order := f.queue, f.report.Recommended
	want := Kernel{Kind: Interpreter, Width: order.Width}
	g, reason := e.fit(f, want, order)
	want.Width = g.Width
	if f.hot != 0 {
		if fused, ok := FusedKernel(g, f.hot); ok {
			want = fused
			if f.opcodes&^f.hot == 0 {
				want = fused.Exact()
			}
		}
	}
	f.report.Wanted = want

	p, err := e.programs.Pick(want, q.kernel)
	if err != nil {
		return err
	}
	f.picked = p
	if p.Kernel != want {
		g, reason = e.standIn(f, p.Kernel, g), p.Reason
		if p.Kernel.Kind == Fused && g.Chunk != p.Kernel.Chunk {
			// The wave has slots that take more steps than its chunk allows.
			e.programs.Release(&f.picked)
			if f.picked, err = e.programs.Pick(Kernel{Kind: Interpreter, Width: p.Kernel.Width}, Kernel{}); err != nil {
				return err
			}
			g = e.standIn(f, f.picked.Kernel, g)
		}
	}
	f.report.NotApplied = reason
	f.report.Kernel = f.picked.Kernel
	f.report.Fingerprint = f.picked.program.Fingerprint
	f.geometry, f.wave = g, e.waveOf(f, f.picked.Kernel, g)
	q.kernel, q.geometry = f.picked.Kernel, g
	if f.picked.Kernel.Kind != Fused || f.opcodes&^f.picked.Kernel.Hot == 0 {
		return nil // no slot of the wave can be left to anybody
	}
	// What is not hot is drained by an interpreter, of any width that is ready.
	f.chained, err = e.programs.Pick(Kernel{Kind: Interpreter, Width: g.Width}, q.cold)
	if err != nil {
		return err
	}
	q.cold = f.chained.Kernel
	cold, _ := e.fit(f, f.chained.Kernel, Geometry{Width: f.chained.Kernel.Width, Groups: g.Groups, Chunk: g.Chunk})
	f.cold = e.waveOf(f, f.chained.Kernel, cold)
	f.cold.Cold = true
	return nil
}

// standIn is the geometry for a kernel that is not the wanted one: that of the
// queue's wave before if it is its kernel, else what was ordered at the kernel's width.
func (e *Engine) standIn(f *flight, k Kernel, g Geometry) Geometry {
	if q := f.queue; q.kernel == k && q.geometry.Width == k.Width {
		g = q.geometry
	}
	g.Width = k.Width
	if k.Kind == Fused {
		g.Chunk = k.Chunk
	}
	g, _ = e.fit(f, k, g)
	return g
}

// fit is the nearest geometry that a kernel can run a wave's slots at, and why it
// is another.
func (e *Engine) fit(f *flight, k Kernel, g Geometry) (Geometry, string) {
	return legal(g, e.limits, e.catalog.RowCost(k, f.opcodes, f.steps)-rowIterations, e.cfg.LoopBudget)
}

// waveOf are the parameters of a wave.
func (e *Engine) waveOf(f *flight, k Kernel, g Geometry) Wave {
	q := f.queue
	return Wave{
		Entries:      uint32(len(f.schedule)),
		Chunk:        g.Chunk,
		ClaimBudget:  claimBudget(g, e.catalog.RowCost(k, f.opcodes, f.steps)-rowIterations, e.cfg.LoopBudget),
		StepBudget:   f.steps,
		Tenant:       q.tenant,
		WindowBase:   q.base,
		WindowLength: q.length,
	}
}

// unpick gives a flight's programs back.
func (e *Engine) unpick(f *flight) {
	for _, p := range [...]*Picked{&f.picked, &f.chained} {
		if p.program != nil {
			e.programs.Release(p)
		}
	}
}

// Prefetch has kernels built ahead, the first first, if there is a second context to
// build them on; see Config.Beside. It does not wait.
func (e *Engine) Prefetch(kernels ...Kernel) { e.programs.Prefetch(kernels...) }

// Candidates are the kernels that a queue's launches at some geometries may want next,
// for Prefetch: for each geometry the interpreter and, if the queue has hot opcodes, the
// fused and the exact kernel.
func (e *Engine) Candidates(name string, geometries ...Geometry) []Kernel {
	var hot OpcodeSet
	e.mu.Lock()
	if q := e.queues[name]; q != nil {
		hot = q.promotion.hot()
	}
	e.mu.Unlock()
	var kernels []Kernel
	for _, g := range geometries {
		if k, ok := FusedKernel(g, hot); ok {
			kernels = append(kernels, k, k.Exact())
		}
		if k := (Kernel{Kind: Interpreter, Width: g.Width}); g.Width > 0 {
			kernels = append(kernels, k)
		}
	}
	return kernels
}

// ProgramStats is a snapshot of what was built, loaded, refused and is waiting.
func (e *Engine) ProgramStats() kernelcache.Stats { return e.programs.Stats() }
