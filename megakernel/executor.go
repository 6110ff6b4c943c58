package megakernel

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/ledger"
	"ringmaster/megakernel/policy"
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

	// Changed by attach, with nothing in flight and nobody writing: those who write slots
	// to staging read memory without a lock.
	dev      gpu.Device
	memory   *memory
	programs *Programs
	compiler gpu.Device // programs are built on it; nil if there is none
	limits   kernel.Limits
	lease    leasing

	lastEnd  time.Time  // end of the last wave
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
}

func newExecutor(e *Engine) *executor {
	return &executor{
		cfg: &e.cfg, catalog: e.catalog, ledger: e.ledger, jobs: &e.pump, flights: e.flights,
		launched: make([]launched, e.cfg.MaxQueues), uploaded: make([]bool, e.cfg.Pages),
	}
}

// attach allocates the engine's memory on a device. Nothing is in flight.
func (x *executor) attach(dev gpu.Device) error {
	var m *memory
	err := dev.Do(func() (err error) {
		m, err = newMemory(dev, x.cfg.Pages, int(x.cfg.HeapWords), PrintRecords, x.cfg.InFlight)
		return err
	})
	if err != nil {
		return err
	}
	if err := x.attachPrograms(dev); err != nil {
		return errors.Join(err, dev.Do(func() error { m.delete(); return nil }))
	}
	x.dev, x.memory = dev, m
	x.limits = kernel.LimitsOf(dev)
	x.statuses.Store(m.buffers[ring.BindStatus].Buffer)
	x.lastEnd = time.Time{}
	clear(x.uploaded)
	for _, f := range x.flights {
		f.queries = [2]gpu.Query{}
	}
	x.attachLease()
	return nil
}

// close frees what the executor has on the device. No wave is on it.
func (x *executor) close() error {
	lease := x.lease.close() // before the device's thread is used
	x.programs.Release(&x.lease.program)
	programs := x.programs.Close()
	closeBeside(x.compiler)
	return errors.Join(lease, programs, x.dev.Do(func() error {
		for _, f := range x.flights {
			for _, q := range f.queries {
				x.dev.DeleteQuery(q)
			}
		}
		x.memory.delete()
		return nil
	}))
}

// attachPrograms opens the second context beside a device and has the programs
// built there from now on. On an error nothing has changed.
func (x *executor) attachPrograms(dev gpu.Device) error {
	beside := x.openBeside(dev)
	var err error
	if x.programs == nil {
		x.programs, err = NewPrograms(dev, beside, ProgramsConfig{
			Catalog: x.catalog, Kept: x.cfg.Programs, Disk: x.cfg.Binaries, Log: x.cfg.Log,
		})
	} else {
		err = x.programs.Move(dev, beside)
	}
	if err != nil {
		closeBeside(beside)
		return err
	}
	if x.compiler != nil {
		go closeBeside(x.compiler) // the driver of a lost device may never return
	}
	x.compiler = beside
	return nil
}

// openBeside opens the second context; nil if there is none to have.
func (x *executor) openBeside(dev gpu.Device) gpu.Device {
	if x.cfg.Beside == nil {
		return nil
	}
	beside, err := x.cfg.Beside(dev)
	if err != nil {
		log := x.cfg.Log
		if log == nil {
			log = slog.New(slog.DiscardHandler)
		}
		log.Warn("no second context to build kernels on; launches wait for the compiler", "error", err)
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
