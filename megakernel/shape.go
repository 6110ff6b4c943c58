package megakernel

import (
	"cmp"

	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/kernelcache/hotset"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

// shape chooses the kernel and the geometry of a wave: the wanted ones if the kernel is
// ready, otherwise those of the queue's wave before, or an interpreter. The report says
// which and why. Called on the pump's goroutine, not the device's thread.
func (x *executor) shape(f *flight) error {
	q, order := x.launchedOf(f), f.report.Recommended
	want := kernel.Kernel{Kind: kernel.Interpreter, Width: order.Width}
	g, reason := x.fit(f, want, order)
	want.Width = g.Width
	if f.hot != 0 {
		if fused, ok := kernel.FusedKernel(g, f.hot); ok {
			want = fused
			if kernel.OpcodeSet(f.wave.Opcodes)&^f.hot == 0 {
				want = fused.Exact()
			}
		}
	}
	f.report.Wanted = want
	if g.Width != q.width || g.Chunk != q.chunk {
		q.width, q.chunk, q.same = g.Width, g.Chunk, 0
	}
	f.report.CompiledReady = x.compiledReady(f, g, q.same)
	q.same = min(q.same+1, aheadFrom)

	p, err := x.programs.Pick(want, q.kernel)
	if err != nil {
		return err
	}
	f.program = p
	if p.Kernel != want {
		g, reason = x.standIn(f, p.Kernel, g), p.Reason
		if p.Kernel.Kind == kernel.Fused && g.Chunk != p.Kernel.Chunk {
			// The wave has slots that take more steps than its chunk allows.
			x.programs.Release(&f.program)
			if f.program, err = x.programs.Pick(kernel.Kernel{Kind: kernel.Interpreter, Width: p.Kernel.Width}, kernel.Kernel{}); err != nil {
				return err
			}
			g = x.standIn(f, f.program.Kernel, g)
		}
	}
	f.report.NotApplied = cmp.Or(f.notLeased, reason)
	f.report.Kernel = f.program.Kernel
	f.report.Fingerprint = f.program.Fingerprint
	f.geometry, f.params = g, x.waveOf(f, f.program.Kernel, g)
	q.kernel, q.geometry = f.program.Kernel, g
	if f.program.Kernel.Kind != kernel.Fused || kernel.OpcodeSet(f.wave.Opcodes)&^f.program.Kernel.Hot == 0 {
		return nil // no slot of the wave can be left to anybody
	}
	return x.shapeCold(f, q, reason)
}

// shapeCold chooses the kernel that drains what a fused one leaves: an interpreter, of any width
// that is ready. reason is why the fused one runs at another geometry than was ordered.
func (x *executor) shapeCold(f *flight, q *launched, reason string) (err error) {
	g := f.geometry
	f.coldProgram, err = x.programs.Pick(kernel.Kernel{Kind: kernel.Interpreter, Width: g.Width}, q.cold)
	if err != nil {
		return err
	}
	q.cold = f.coldProgram.Kernel
	cold, why := x.fit(f, f.coldProgram.Kernel, policy.Geometry{Width: f.coldProgram.Kernel.Width, Groups: g.Groups, Chunk: g.Chunk})
	if cold.Groups > g.Groups { // both dispatches have the same
		f.geometry.Groups, q.geometry.Groups, f.report.NotApplied = cold.Groups, cold.Groups, cmp.Or(f.notLeased, reason, why)
	}
	f.coldParams = x.waveOf(f, f.coldProgram.Kernel, cold)
	f.coldParams.Cold = true
	return nil
}

// aheadFrom is after how many waves in a row of one width and chunk a fused kernel is built ahead
// for them: a tuner that looks at geometries has none built.
const aheadFrom = 16

// compiledReady says whether a fused kernel for a wave's hot opcodes is built, whether it is
// asked for or not. If it is not, it is built ahead, so that who asks for it does not wait.
func (x *executor) compiledReady(f *flight, g policy.Geometry, same uint32) bool {
	fused, ok := kernel.FusedKernel(g, f.warm)
	if !ok || x.programs.Ready(fused) {
		return ok
	}
	if f.hot == 0 && same == aheadFrom {
		x.programs.Prefetch(fused)
	}
	return false
}

// standIn is the geometry for a kernel that is not the wanted one: that of the
// queue's wave before if it is its kernel, else what was ordered at the kernel's width.
func (x *executor) standIn(f *flight, k kernel.Kernel, g policy.Geometry) policy.Geometry {
	if q := x.launchedOf(f); q.kernel == k && q.geometry.Width == k.Width {
		g.Groups, g.Chunk = q.geometry.Groups, q.geometry.Chunk
	}
	g.Width = k.Width
	if k.Kind == kernel.Fused {
		g.Chunk = k.Chunk
	}
	g, _ = x.fit(f, k, g)
	return g
}

// fit is the nearest geometry that a kernel can run a wave's slots at, and why it
// is another.
func (x *executor) fit(f *flight, k kernel.Kernel, g policy.Geometry) (policy.Geometry, string) {
	return kernel.Fit(g, x.limits, x.catalog.RowCost(k, kernel.OpcodeSet(f.wave.Opcodes), f.wave.Steps)-kernel.RowIterations, x.cfg.LoopBudget)
}

// waveOf are the parameters of a wave.
func (x *executor) waveOf(f *flight, k kernel.Kernel, g policy.Geometry) kernel.Wave {
	window := f.wave.Window()
	return kernel.Wave{
		Entries:      uint32(len(f.wave.Schedule)),
		Chunk:        g.Chunk,
		ClaimBudget:  kernel.ClaimBudget(g, x.catalog.RowCost(k, kernel.OpcodeSet(f.wave.Opcodes), f.wave.Steps)-kernel.RowIterations, x.cfg.LoopBudget),
		StepBudget:   f.wave.Steps,
		Tenant:       window.Tenant,
		WindowBase:   window.Base,
		WindowLength: window.Length,
	}
}

// releasePrograms gives a flight's programs back.
func (x *executor) releasePrograms(f *flight) {
	x.programs.Release(&f.program)
	x.programs.Release(&f.coldProgram)
}

// Prefetch has kernels built ahead, the first first, if there is a second context to
// build them on; see Config.Beside. It does not wait.
func (e *Engine) Prefetch(kernels ...kernel.Kernel) { e.exec.programs.Prefetch(kernels...) }

// launchedOf is what ran the last wave of a flight's queue. Called with deviceMu held.
func (x *executor) launchedOf(f *flight) *launched {
	w := f.wave.Window()
	l := &x.launched[w.Number()]
	if l.tenant != w.Tenant {
		*l = launched{tenant: w.Tenant}
	}
	return l
}

// promotion is what a queue's launches say about the kernel it deserves. It is kept by the
// number of the queue's window, which may get another queue: that one has another tenant's
// id, because ids are not given out again until they have wrapped around.
type promotion struct {
	tenant uint32 // of the queue; another one starts from nothing
	state  hotset.State
}

// promotionOf is the promotion of a flight's queue. Called with mu held.
func (e *Engine) promotionOf(f *flight) *promotion {
	w := f.wave.Window()
	p := &e.promotions[w.Number()]
	if p.tenant != w.Tenant {
		*p = promotion{tenant: w.Tenant}
	}
	return p
}

// settle takes in what a launch executed. Fences, which no kernel executes, and faults, which
// are not work, are never fused.
func (p *promotion) settle(c *kernel.Catalog, counts *[ring.OpcodeBins]uint32) {
	p.state = hotset.Decide(c.All()&kernel.Fusable, p.state, (*hotset.Counts)(counts))
}

// hot are the opcodes that deserve a fused kernel; none if the interpreter does.
func (p *promotion) hot() kernel.OpcodeSet { return p.state.Set }
