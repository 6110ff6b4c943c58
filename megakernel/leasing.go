package megakernel

import (
	"errors"
	"log/slog"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/lease"
	"ringmaster/ring"
)

// leasing is an engine's lease and what the pump needs to feed it. Guarded by deviceMu.
type leasing struct {
	resident *lease.Lease // nil if there is none
	program  Picked       // its kernel's; none without a lease
	slots    []ring.Slot
	statuses []ring.Status
	results  []uint32
	places   []int // where in the flight's words a slot's go
}

// autoLeaseCost is the share of a round's loop iterations that launches of
// ModeAuto may take: slots with long loops are better spread over a wave's workgroups.
const autoLeaseCost = 16

// attachLease opens a lease on the engine's device, if it is wanted. Without
// one everything runs as waves. A lease on another device is gone with it.
func (e *Engine) attachLease() {
	l, m := &e.lease, e.memory
	e.programs.Release(&l.program)
	if l.resident = nil; !e.cfg.Lease {
		return
	}
	var err error
	l.resident, err = lease.Open(e.dev, lease.Config{
		Heap: m.buffers[ring.BindHeap], HeapBytes: m.sizes[ring.BindHeap],
		Print: m.buffers[ring.BindPrint], PrintBytes: m.sizes[ring.BindPrint],
		Duration: e.cfg.LeaseDuration, Idle: min(lease.DefaultIdle, e.cfg.LeaseDuration),
		LoopBudget: e.cfg.LoopBudget, Catalog: e.catalog, Program: e.leaseProgram,
	})
	log := e.cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if err != nil {
		e.programs.Release(&l.program)
		log.Warn("no lease, small launches run as waves", "error", err)
		return
	}
	log.Info("lease", "support", l.resident.Support().String())
	if l.slots == nil {
		l.slots, l.statuses = make([]ring.Slot, kernel.MailSlots), make([]ring.Status, kernel.MailSlots)
		l.results, l.places = make([]uint32, kernel.MailSlots), make([]int, kernel.MailSlots)
	}
}

// leaseProgram has the lease's kernel built and holds it. Called while a lease is opened.
func (e *Engine) leaseProgram(k kernel.Kernel) (gpu.Program, [32]byte, error) {
	p, err := e.programs.Hold(k)
	if err != nil {
		return gpu.Program{}, [32]byte{}, err
	}
	e.lease.program = p
	return p.program.ID, p.program.Fingerprint, nil
}

// end makes way on the device's thread.
func (l *leasing) end(reason lease.Reason) error {
	if l.resident == nil {
		return nil
	}
	return l.resident.End(reason)
}

func (l *leasing) close() error {
	if l.resident == nil {
		return nil
	}
	return l.resident.Close()
}

// leaseEndFor is why a wave ends the resident kernel.
func (e *Engine) leaseEndFor(f *flight) lease.Reason {
	switch q := e.launchedOf(f); {
	case q.geometry != (Geometry{}) && q.geometry != f.report.Recommended:
		return lease.EndGeometry
	case f.hot != q.kernel.Hot:
		return lease.EndKernel
	}
	return lease.EndWave
}

// leased runs a launch on the resident kernel and reports true, or reports false if the
// launch cannot run there. Called with deviceMu held and no wave in flight.
func (e *Engine) leased(f *flight) bool {
	l := &e.lease
	if l.resident == nil || f.mode == ModeWave || f.report.Scheduled > kernel.MailSlots || e.watched.Load() {
		return false
	}
	n := e.gather(f)
	resident, window := l.resident, f.wave.Window()
	k, fingerprint := resident.Kernel()
	cost := uint64(n+int(k.Width)-1) / uint64(k.Width) * uint64(e.catalog.RowCost(k, OpcodeSet(f.wave.Opcodes), f.wave.Steps))
	if f.mode == ModeAuto && cost > uint64(resident.RoundCost()/autoLeaseCost) {
		return false
	}
	begin := time.Now()
	err := resident.Do(lease.Window{Tenant: window.Tenant, Base: window.Base, Length: window.Length}, l.slots[:n], l.statuses[:n], l.results[:n])
	if errors.Is(err, lease.ErrSize) {
		return false
	}
	f.leased, f.err = true, err
	if err != nil && !gpu.Lost(err) {
		e.giveUpLease(err)
		if !errors.Is(err, lease.ErrBroken) {
			f.err = nil // what ran is settled, the rest runs as waves
		}
	}
	end := time.Now()
	r := &f.report
	r.Leased = true
	r.Kernel, r.Fingerprint = k, fingerprint
	r.Wanted = r.Kernel
	r.NotApplied = "the resident kernel ran it"
	r.ElapsedNs, r.TimeSource = uint64(end.Sub(begin)), TimeFinish
	if !e.lastEnd.IsZero() {
		r.IdleNs = uint64(begin.Sub(e.lastEnd))
	}
	e.lastEnd = end
	e.scatter(f, n)
	return true
}

// giveUpLease goes on without a lease after it failed.
func (e *Engine) giveUpLease(err error) {
	l := e.lease.resident
	e.lease.resident = nil
	if e.cfg.Log != nil {
		e.cfg.Log.Warn("the lease is given up, small launches run as waves", "error", err)
	}
	_ = l.Close() // the error is known
	e.programs.Release(&e.lease.program)
}

// gather copies a launch's slots and returns how many there are.
func (e *Engine) gather(f *flight) (n int) {
	l := &e.lease
	f.wave.CopyStatuses()
	f.wave.Each(func(at int, s *ring.Slot, status ring.Status) {
		l.slots[n], l.statuses[n], l.places[n] = *s, status, at
		n++
	})
	return n
}

// scatter copies the results of the resident kernel to where those of a wave would be.
func (e *Engine) scatter(f *flight, n int) {
	l := &e.lease
	clear(f.control)
	c := &f.control[0]
	for i := range n {
		status := l.statuses[i]
		f.wave.Statuses[l.places[i]] = status
		if f.wave.Results {
			f.wave.Words[l.places[i]] = l.results[i]
		}
		switch status.State() {
		case ring.Done:
			c.Executed++
			c.OpcodeCounts[l.slots[i].Opcode]++
		case ring.Fault:
			c.Faulted++
		case ring.Yielded, ring.Requeued:
			c.Again++
		}
	}
}
