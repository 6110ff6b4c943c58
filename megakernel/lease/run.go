package lease

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

// resident is one kernel from its start to the end of its dispatch.
type resident struct {
	number   uint32
	answered uint32        // the tail answered before it
	poke     chan struct{} // wakes the device's thread when the kernel is about to end
	gone     chan struct{} // closed when the dispatch is over and all it wrote is visible
	over     atomic.Bool   // gone is closed, for those who only look
	err      error         // the device's, valid once gone
}

// stop asks the kernel to end at its next turn. It may be called any number of
// times, until the lease is closed.
func (k *resident) stop(l *Lease) {
	l.dev.StoreWord(l.mailbox, kernel.MailStop*ring.WordBytes, k.number)
	k.wake()
}

func (k *resident) wake() {
	select {
	case k.poke <- struct{}{}:
	default:
	}
}

// start dispatches a kernel. Called with mu held, while
// none is there.
func (l *Lease) start() {
	k := &resident{
		number:   l.nextNumber(),
		answered: l.dev.LoadWord(l.mailbox, kernel.MailDone*ring.WordBytes),
		poke:     make(chan struct{}, 1),
		gone:     make(chan struct{}),
	}
	l.kernel = k
	l.stats.Starts++
	go l.run(k, limits{turns: l.turns, round: l.round, idle: l.idle})
}

// nextNumber is a number for a kernel, never 0.
func (l *Lease) nextNumber() uint32 {
	if l.number.Add(1) == 0 {
		l.number.Add(1)
	}
	return l.number.Load()
}

// limits bound a kernel by its own count.
type limits struct{ turns, round, idle uint32 }

// run is a kernel's life. It has a goroutine of its own, because some drivers
// return from a dispatch only when the kernel has ended.
func (l *Lease) run(k *resident, limits limits) {
	var watch sync.WaitGroup
	ended := make(chan struct{})
	watch.Go(func() { // a count of turns is a measure of time only while the device is idle
		timer := time.NewTimer(l.cfg.Duration)
		defer timer.Stop()
		select {
		case <-timer.C:
			k.stop(l)
		case <-ended:
		}
	})
	k.err = l.dev.Do(func() error { return l.dispatch(k, limits) })
	close(ended)
	watch.Wait()
	k.over.Store(true)
	close(k.gone)
}

// fencePoll is how often the device's thread looks whether a kernel has ended
// that it has not been told about.
const fencePoll = 500 * time.Microsecond

// dispatch runs a kernel and waits for its end. Called on the device's thread.
func (l *Lease) dispatch(k *resident, limits limits) error {
	dev, cfg := l.dev, &l.cfg
	dev.BindStorage(ring.BindControl, l.mailbox, 0, kernel.MailSlotsAt)
	dev.BindStorage(ring.BindSlots, l.mailbox, kernel.MailSlotsAt, kernel.MailSlots*ring.SlotBytes)
	dev.BindStorage(ring.BindHeap, cfg.Heap, 0, cfg.HeapBytes)
	dev.BindStorage(ring.BindPrint, cfg.Print, 0, cfg.PrintBytes)
	for i, value := range []uint32{k.number, k.answered, limits.turns, limits.round, limits.idle} {
		if at := l.uniforms[i]; at >= 0 {
			dev.SetUniform(l.program, at, value)
		}
	}
	dev.Dispatch(l.program, 1)
	dev.Barrier()
	fence := dev.InsertFence()
	dev.Flush()
	defer dev.DeleteFence(fence)
	timer := time.NewTimer(fencePoll)
	defer timer.Stop()
	for {
		timeout := uint64(0)
		if l.word(kernel.MailEnded) == k.number {
			timeout = uint64(fencePoll) // it is only a matter of the fence
		}
		switch done, err := dev.WaitFence(fence, timeout); {
		case err != nil:
			return err
		case done:
			return dev.Check()
		}
		if timeout == 0 {
			timer.Reset(fencePoll)
			select {
			case <-k.poke:
				continue
			case <-timer.C:
			}
		}
		if err := dev.Check(); err != nil {
			return err
		}
	}
}

// word is a word of the mailbox.
func (l *Lease) word(index int) uint32 { return l.dev.LoadWord(l.mailbox, index*ring.WordBytes) }

// reap waits for the end of the kernel. Called with mu held and a kernel there.
func (l *Lease) reap() error {
	k := l.kernel
	k.wake()
	<-k.gone
	l.kernel = nil
	if k.err != nil {
		l.broken = k.err
	}
	return k.err
}

// submit runs one round. Called with mu held.
func (l *Lease) submit(w Window, slots []ring.Slot, statuses []ring.Status, results []uint32, r round) error {
	if l.broken != nil {
		return l.broken
	}
	tail := kernel.NextTail(l.tail, len(slots))
	if tail < l.tail {
		// Round numbers begin anew: no record may look like one of those to come.
		l.dev.StoreMapped(l.mailbox, kernel.MailRecordsAt, make([]byte, kernel.MailSlots*kernel.MailRecordWords*ring.WordBytes))
	}
	l.tail = tail
	l.put(w, tail, slots, statuses, r.steps, r.cost)
	l.dev.StoreWord(l.mailbox, kernel.MailTail*ring.WordBytes, tail)
	var present *resident // a kernel that may see the round: it had not ended when the round was there
	if k := l.kernel; k != nil && l.word(kernel.MailEnded) != k.number {
		present = k
	}
	for {
		if l.kernel == nil {
			l.start()
		}
		if l.await(l.kernel, tail) {
			break
		}
		// The kernel is gone, and its round either answered or not begun.
		k, begun := l.kernel, l.word(kernel.MailBegun) == tail
		if err := l.reap(); err != nil {
			return err
		}
		if l.word(kernel.MailDone) == tail {
			break
		}
		if begun {
			l.broken = ErrBroken
			return l.broken
		}
		l.stats.Resubmitted++
		if k == present && kernel.Cause(l.word(kernel.MailCause)) == kernel.CauseTurns {
			l.missed++
		}
	}
	l.collect(statuses, results)
	l.stats.Rounds++
	return nil
}

// put writes a round into the mailbox, all but its tail. What the driver reads
// is allocated apart from anything that holds Go pointers, as cgo demands.
func (l *Lease) put(w Window, tail uint32, slots []ring.Slot, statuses []ring.Status, steps, cost uint32) {
	n := len(slots)
	whole := false
	for i := range slots {
		s := &slots[i]
		r := &l.records[i]
		*r = kernel.MailRecord{Opcode: s.Opcode, Tenant: s.Tenant, Status: statuses[i], Args: [kernel.RecordArgs]uint32(s.Args[:])}
		r.Check = r.Sum(tail)
		whole = whole || kernel.WholeSlot.Has(kernel.Opcode(s.Opcode))
	}
	if whole {
		copy(l.slots[:n], slots)
		l.dev.StoreMapped(l.mailbox, kernel.MailSlotsAt, gpu.Bytes(l.slots[:n]))
	}
	l.dev.StoreMapped(l.mailbox, kernel.MailRecordsAt, gpu.Bytes(l.records[:n]))
	copy(l.head, []uint32{w.Tenant, w.Base, w.Length, steps, cost})
	l.head[5] = kernel.MailSum(tail, l.head[:5]...)
	l.dev.StoreMapped(l.mailbox, kernel.MailTenant*ring.WordBytes, gpu.Bytes(l.head))
}

// collect reads what an answered round left in the mailbox.
func (l *Lease) collect(statuses []ring.Status, results []uint32) {
	outcomes := l.outcomes[:len(statuses)]
	l.dev.LoadMapped(l.mailbox, kernel.MailOutcomesAt, gpu.Bytes(outcomes))
	for i := range outcomes {
		statuses[i], results[i] = outcomes[i].Status, outcomes[i].Result
	}
}

// How often a producer looks for its answer before it lets others run, and
// before it only looks from time to time: a round takes microseconds, but the
// device's thread may have other work to finish before it dispatches the kernel.
const (
	spins  = 200
	yields = 600
	nap    = 50 * time.Microsecond
)

// await waits until a round is answered or the kernel is gone, and reports
// which. Called with mu held.
func (l *Lease) await(k *resident, tail uint32) bool {
	for look := 0; l.word(kernel.MailDone) != tail; look++ {
		switch {
		case look&7 == 7 && (k.over.Load() || l.word(kernel.MailEnded) == k.number):
			k.wake()
			<-k.gone
			return l.word(kernel.MailDone) == tail
		case look > yields:
			select {
			case <-k.gone:
			case <-time.After(nap):
			}
		case look > spins:
			runtime.Gosched()
		}
	}
	return true
}
