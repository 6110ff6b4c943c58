package megakernel

import (
	"errors"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/lease"
	"ringmaster/megakernel/memory"
	"ringmaster/megakernel/program"
	"ringmaster/ring"
)

// leasing is an engine's lease and what the pump needs to feed it. Guarded by deviceMu.
type leasing struct {
	resident *lease.Lease   // nil if there is none
	program  program.Picked // its kernel's; none without a lease
	slots    []ring.Slot
	statuses []ring.Status
	results  []uint32
	places   []int // where in the flight's words a slot's go
}

// autoLeaseCost is the share of a round's loop iterations that launches of
// ModeAuto may take: slots with long loops are better spread over a wave's workgroups.
const autoLeaseCost = 16

// openLease opens a lease on a device, if one is wanted and the device can have one.
// Without one everything runs as waves. The error is a loss of the device: whatever else
// is wrong is wrong with the lease alone.
func (x *executor) openLease(dev gpu.Device, traits *gpu.Traits, m *memory.Ring) (l leasing, err error) {
	x.leaseSlots.Store(0)
	if !x.cfg.Lease {
		return leasing{}, nil
	}
	l.resident, err = lease.Open(dev, traits, lease.Config{
		Heap: m.Buffers[ring.BindHeap], HeapBytes: m.Sizes[ring.BindHeap],
		Print: m.Buffers[ring.BindPrint], PrintBytes: m.Sizes[ring.BindPrint],
		Duration: x.cfg.LeaseDuration, Idle: min(lease.DefaultIdle, x.cfg.LeaseDuration),
		LoopBudget: x.cfg.LoopBudget, Catalog: x.catalog,
		Program: func(k kernel.Kernel) (id gpu.Program, err error) {
			if l.program, err = x.programs.Hold(k); err == nil {
				id = l.program.Program.ID
			}
			return id, err
		},
	})
	if err != nil {
		x.programs.Release(&l.program)
		if gpu.Lost(err) {
			return leasing{}, err
		}
		x.log.Warn("no lease, small launches run as waves", "error", err)
		return leasing{}, nil
	}
	x.leaseSlots.Store(kernel.MailSlots)
	x.log.Info("lease", "support", l.resident.Support().String())
	l.slots, l.statuses = make([]ring.Slot, kernel.MailSlots), make([]ring.Status, kernel.MailSlots)
	l.results, l.places = make([]uint32, kernel.MailSlots), make([]int, kernel.MailSlots)
	return l, nil
}

// LeaseSlots is the most slots of a launch that the resident kernel takes; 0: there is none
// now. It waits for nothing.
func (e *Engine) LeaseSlots() uint32 { return e.exec.leaseSlots.Load() }

// end frees the device's thread from the resident kernel.
func (l *leasing) end() error {
	if l.resident == nil {
		return nil
	}
	return l.resident.End()
}

func (l *leasing) close() error {
	if l.resident == nil {
		return nil
	}
	return l.resident.Close()
}

// leased runs a launch on the resident kernel and reports true, or reports false if the
// launch does not run there, and notes why if the order asked for that. Called with deviceMu
// held and no wave in flight.
func (x *executor) leased(f *flight) bool {
	l := &x.lease
	switch {
	case f.mode == ModeWave:
		return false
	case l.resident == nil:
		f.notLeased = "there is no resident kernel"
		return false
	case f.report.Scheduled > kernel.MailSlots:
		f.notLeased = "a round of the resident kernel has room for fewer slots"
		return false
	case x.watched.Load(): // whoever watches the status words would see nothing of a round
		f.notLeased = "the status words are watched on the device"
		return false
	}
	const long = "the slots' loops are too long for the resident kernel"
	n := x.gather(f)
	resident, window := l.resident, f.wave.Window()
	k, fingerprint := resident.Kernel(), l.program.Fingerprint
	cost := uint64(n+int(k.Width)-1) / uint64(k.Width) * uint64(x.catalog.RowCost(k, kernel.OpcodeSet(f.wave.Opcodes), f.wave.Steps))
	if f.mode == ModeAuto && cost > uint64(resident.RoundCost()/autoLeaseCost) {
		f.notLeased, f.report.LeaseRefused = long, true
		return false
	}
	begin := time.Now()
	err := resident.Do(lease.Window{Tenant: window.Tenant, Base: window.Base, Length: window.Length}, l.slots[:n], l.statuses[:n], l.results[:n])
	if errors.Is(err, lease.ErrSize) {
		f.notLeased, f.report.LeaseRefused = long, true
		return false
	}
	f.leased, f.err = true, err
	if err != nil && !gpu.Lost(err) {
		x.giveUpLease(err)
		if !errors.Is(err, lease.ErrBroken) {
			f.err = nil // what ran is settled, the rest runs as waves
		}
	}
	end := time.Now()
	r := &f.report
	r.Leased = true
	r.Kernel, r.Fingerprint = k, fingerprint
	r.Wanted = r.Kernel
	r.ElapsedNs, r.TimeSource = uint64(end.Sub(begin)), gpu.TimeFinish
	x.lastEnd = end
	x.scatter(f, n)
	return true
}

// giveUpLease goes on without a lease after it failed.
func (x *executor) giveUpLease(err error) {
	l := x.lease.resident
	x.lease.resident = nil
	x.leaseSlots.Store(0)
	x.log.Warn("the lease is given up, small launches run as waves", "error", err)
	_ = l.Close() // the error is known
	x.programs.Release(&x.lease.program)
}

// gather copies a launch's slots and returns how many there are. The resident kernel takes
// slots one behind the other, a wave's lie in pages: places says which belongs where.
func (x *executor) gather(f *flight) (n int) {
	l := &x.lease
	f.wave.CopyStatuses()
	f.wave.Each(func(at int, s *ring.Slot, status ring.Status) {
		l.slots[n], l.statuses[n], l.places[n] = *s, status, at
		n++
	})
	return n
}

// scatter copies the results of the resident kernel to where those of a wave would be, and
// counts what a wave's kernel counts: the settler sees no difference.
func (x *executor) scatter(f *flight, n int) {
	l := &x.lease
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
