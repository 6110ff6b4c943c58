package megakernel

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/ledger"
	"ringmaster/megakernel/memory"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/program"
	"ringmaster/ring"
)

// executor runs planned waves on a device: it chooses their kernels, uploads, dispatches,
// and fetches what they leave. It knows nothing of what is pending. Whoever calls it holds
// Engine.deviceMu, but for load, which copies what a wave left from memory that is only that
// wave's.
type executor struct {
	cfg     *Config
	catalog *kernel.Catalog
	ledger  *ledger.Ledger // for the status words of pages that are in a wave
	jobs    *pump          // to see whether somebody waits
	flights []*flight
	log     *slog.Logger

	// Changed by attach, with nothing in flight and nobody writing: those who write slots
	// to staging read memory without a lock.
	dev      gpu.Device
	traits   gpu.Traits
	limits   kernel.Limits // of traits
	memory   *memory.Ring
	programs *program.Set
	builder  gpu.Device // programs are built on it; nil if there is none
	lease    leasing

	leaseSlots atomic.Uint32 // most of a launch on the lease; 0: there is none

	lastEnd  time.Time  // end of the last wave; zero before the first on a device
	launched []launched // what ran last, by the number of its queue's window
	uploaded []bool     // the device has a page's slots; guarded by Engine.mu while the page is in no wave

	statuses atomic.Uint32 // the buffer of status words
	watched  atomic.Bool   // somebody looks at it
}

// launched is what ran a queue's last wave, for one whose kernel is not ready.
type launched struct {
	tenant   uint32 // of the queue; another one starts from nothing
	kernel   kernel.Kernel
	cold     kernel.Kernel
	geometry policy.Geometry
	width    uint32 // that its newest wave was ordered at, and the chunk: what a fused kernel is compiled for
	chunk    uint32
	same     uint32 // waves in a row ordered so, saturated
}

func newExecutor(e *Engine) *executor {
	log := e.cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &executor{
		cfg: &e.cfg, catalog: e.catalog, ledger: e.ledger, jobs: &e.pump, flights: e.flights, log: log,
		launched: make([]launched, e.cfg.MaxQueues), uploaded: make([]bool, e.cfg.Pages),
	}
}

// attach allocates the engine's memory on a device and has the programs built there from
// now on. Nothing is in flight. On an error nothing has changed.
//
// What can fail comes before what is changed, but for the programs: the lease's kernel is
// one of them, and a device may be lost in the self-test of its lease. They go back then,
// to a device that is lost too if there is one, and find that out at the next build.
func (x *executor) attach(dev gpu.Device) error {
	traits := gpu.TraitsOf(dev)
	var m *memory.Ring
	err := dev.Do(func() (err error) {
		m, err = memory.New(dev, &traits, x.cfg.Pages, int(x.cfg.HeapWords), PrintRecords, x.cfg.InFlight)
		return err
	})
	if err != nil {
		return err
	}
	beside := x.openBeside(dev)
	x.buildOn(dev, beside)
	fresh, err := x.openLease(dev, &traits, m)
	if err != nil {
		return errors.Join(err, x.detach(dev, beside, m))
	}
	x.programs.Release(&x.lease.program) // of a lease that is gone with its device
	if x.builder != nil {
		go closeBeside(x.builder) // the driver of a lost device may never return
	}
	x.dev, x.traits, x.limits, x.memory, x.builder, x.lease = dev, traits, kernel.LimitsOf(&traits), m, beside, fresh
	x.statuses.Store(m.Buffers[ring.BindStatus].Buffer)
	x.lastEnd = time.Time{}
	clear(x.uploaded)
	for _, f := range x.flights {
		f.queries = [2]gpu.Query{}
	}
	return nil
}

// buildOn has the programs built on a device, or on the second context beside it.
func (x *executor) buildOn(dev, beside gpu.Device) {
	if x.programs != nil {
		x.programs.Move(dev, beside)
		return
	}
	x.programs = program.Open(dev, beside, program.Config{
		Catalog: x.catalog, Kept: x.cfg.Programs, Disk: x.cfg.Binaries, Log: x.cfg.Log,
	})
}

// detach takes back what attach did on a device before it failed.
func (x *executor) detach(dev, beside gpu.Device, m *memory.Ring) error {
	switch {
	case x.dev != nil:
		x.programs.Move(x.dev, x.builder)
	case x.programs != nil:
		x.programs.Close()
	}
	closeBeside(beside)
	err := dev.Do(func() error { m.Delete(); return nil })
	if gpu.Lost(err) {
		return nil // gone with the device, which the caller is told
	}
	return err
}

// close frees what the executor has on the device. No wave is on it.
func (x *executor) close() error {
	lease := x.lease.close() // before the device's thread is used
	x.programs.Release(&x.lease.program)
	x.programs.Close()
	closeBeside(x.builder)
	return errors.Join(lease, x.dev.Do(func() error {
		for _, f := range x.flights {
			for _, q := range f.queries {
				x.dev.DeleteQuery(q)
			}
		}
		x.memory.Delete()
		return nil
	}))
}

// openBeside opens the second context; nil if there is none to have.
func (x *executor) openBeside(dev gpu.Device) gpu.Device {
	if x.cfg.Beside == nil {
		return nil
	}
	beside, err := x.cfg.Beside(dev)
	if err != nil {
		x.log.Warn("no second context to build kernels on; launches wait for the compiler", "error", err)
		return nil
	}
	return beside
}

// closeBeside closes a second context. What goes wrong there no longer matters.
func closeBeside(beside gpu.Device) {
	if c, ok := beside.(interface{ Close() error }); ok {
		_ = c.Close()
	}
}
