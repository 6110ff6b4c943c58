package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"ringmaster/actors"
	"ringmaster/glcompute"
	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/kernelcache/disk"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/live"
	"ringmaster/telemetry"
)

// Engine is the worker actor's port to a ring. It translates between wire
// records and ring batches, and runs launches on goroutines of its own, so that
// the actor never waits for the device; see launches.go.
type Engine struct {
	ring       *megakernel.Engine
	mode       megakernel.LaunchMode
	identities *kernel.Identities // of kernels, whatever their geometry
	identity   string             // of this kind of device
	binaries   *disk.Dir          // nil: none
	watchdog   *watchdog          // nil: launches may take as long as they like

	keeper rebuilder // the loop's
	prints printShelf

	orders  chan launchOrder
	repairs chan struct{} // holds one token if the device may be lost
	waits   chan megakernel.Ticket
	landed  chan landing
	done    chan struct{} // closed when the loop has ended

	tell atomic.Pointer[func(queue string, done []telemetry.Done)] // see OnEnded
}

type launchOrder struct {
	actors.Order
	settled func(actors.Report)
}

// Built waits until no kernel is being built, as in a worker that has run for a while: on a software renderer
// a build takes the processors from everything else.
func (e *Engine) Built(ctx context.Context) error {
	for e.ring.Stats().Building > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("kernels are still being built: %w", ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// newEngine makes a ring on a device. Its Close also closes the device and the binaries. On an error both
// are the caller's.
func newEngine(device Device, cfg EngineConfig, log *slog.Logger, change ...func(*megakernel.Config)) (*Engine, error) {
	e := &Engine{}
	ringCfg := megakernel.DefaultConfig()
	ringCfg.Ended = e.ended
	ringCfg.Catalog, ringCfg.Binaries, ringCfg.Log = cfg.Catalog, cfg.Binaries, log
	ringCfg.Beside = openBuilderContext
	ringCfg.Lease, ringCfg.LeaseDuration = cfg.Mode != megakernel.ModeWave, cfg.LeaseDuration
	if cfg.AgeThreshold != 0 {
		ringCfg.AgeThreshold = cfg.AgeThreshold
	}
	cfg.size(&ringCfg)
	for _, change := range change {
		change(&ringCfg)
	}
	ring, err := megakernel.New(device, ringCfg)
	if err != nil {
		return nil, err
	}
	for queue, limit := range cfg.Limits {
		if err := ring.Configure(queue, limit); err != nil {
			return nil, errors.Join(err, ring.Close())
		}
	}
	ring.Prefetch(candidateKernels(device)...)
	announced := Announcement(device, cfg.Catalog)
	e.ring, e.mode, e.binaries = ring, cfg.Mode, cfg.Binaries
	e.keeper = rebuilder{device: device, reopen: cfg.Reopen, log: log}
	e.identities, e.identity = kernel.NewIdentities(cfg.Catalog), actors.IdentityOf(&announced)
	e.orders, e.repairs, e.done = make(chan launchOrder, megakernel.MaxInFlight), make(chan struct{}, 1), make(chan struct{})
	e.waits, e.landed = make(chan megakernel.Ticket, 1), make(chan landing, 1)
	if cfg.HangAfter > 0 {
		e.watchdog = startWatchdog(cfg.HangAfter, cfg.Hung)
	}
	e.keeper.attend(e.watchdog)
	go e.wait()
	go e.loop()
	return e, nil
}

// Close stops the loop, frees the ring and closes its device. The worker actor must
// have been drained before.
func (e *Engine) Close() error {
	close(e.keeper.quit)
	close(e.orders)
	<-e.done
	e.watchdog.stop()
	err := errors.Join(e.ring.Close(), e.keeper.close())
	if e.binaries != nil {
		err = errors.Join(err, e.binaries.Close())
	}
	return err
}

// Ring is the engine's ring, to look at.
func (e *Engine) Ring() *megakernel.Engine { return e.ring }

// Borrow lends the device to users other than the ring. The watchdog times each turn.
func (e *Engine) Borrow(fn func(dev gpu.Device) error) error {
	defer e.watchdog.use("a turn of a graph request")()
	return e.ring.Borrow(fn)
}

// Repair has a lost device rebuilt now instead of at the next launch. It does not wait.
func (e *Engine) Repair() {
	select {
	case e.repairs <- struct{}{}:
	default:
	}
}

// Lease implements actors.Engine.
func (e *Engine) Lease() policy.Lease {
	if e.mode == megakernel.ModeWave {
		return policy.Lease{}
	}
	return policy.Lease{Slots: e.ring.LeaseSlots(), Always: e.mode == megakernel.ModeLease}
}

// DeviceIdentity implements actors.Engine.
func (e *Engine) DeviceIdentity() string { return e.identity }

// Submit implements actors.Engine.
func (e *Engine) Submit(queue string, w *telemetry.Work) error {
	batch := megakernel.Batch{ID: w.Batch, WantResults: w.WantResults, Slots: w.Slots, Runs: runsOf(w.Runs)}
	if w.Has.Has(telemetry.HasEpoch) {
		batch.Epoch = w.Epoch
	}
	if w.Has.Has(telemetry.HasDeadlineMs) && w.DeadlineMs > 0 {
		batch.Deadline = time.Now().Add(time.Duration(w.DeadlineMs) * time.Millisecond)
	}
	err := e.ring.Submit(queue, batch)
	if errors.Is(err, megakernel.ErrQuota) {
		return fmt.Errorf("%w: %w", actors.ErrQuota, err)
	}
	if errors.Is(err, megakernel.ErrBacklog) || errors.Is(err, megakernel.ErrQueues) || errors.Is(err, megakernel.ErrMoving) {
		return fmt.Errorf("%w: %w", actors.ErrBusy, err)
	}
	return err
}

// runsOf are runs of slots as the ring has them. The words stay where they are.
func runsOf(from []telemetry.Run) []megakernel.Run {
	runs := make([]megakernel.Run, len(from))
	for i := range from {
		r := &from[i]
		runs[i] = megakernel.Run{Opcode: r.Opcode, Priority: r.Priority, Count: int(r.Count)}
		for a := range r.Args[:r.NArgs] {
			runs[i].Args[a] = megakernel.Arg(r.Args[a])
		}
	}
	return runs
}

// Launch implements actors.Engine. It never blocks the worker actor, which has fewer
// launches under way than the channel holds.
func (e *Engine) Launch(o actors.Order, settled func(actors.Report)) {
	e.orders <- launchOrder{o, settled}
}

// candidateKernels are the kernels of the widths that the tuner tries.
func candidateKernels(device Device) []kernel.Kernel {
	var kernels []kernel.Kernel
	limits := megakernel.LimitsOf(device)
	for _, width := range live.Widths(&limits) {
		kernels = append(kernels, kernel.Kernel{Kind: kernel.Interpreter, Width: width})
	}
	return kernels
}

// openBuilderContext opens a second context of the device, for building kernels. Only a real GL
// device has one; others give nil.
func openBuilderContext(dev gpu.Device) (gpu.Device, error) {
	d, ok := dev.(interface {
		OpenShared() (*glcompute.Device, error)
	})
	if !ok {
		return nil, errors.New("the device cannot open one")
	}
	shared, err := d.OpenShared()
	if err != nil {
		return nil, err // and no Device that holds a nil
	}
	return shared, nil
}

// OnEnded implements actors.Engine.
func (e *Engine) OnEnded(tell func(queue string, done []telemetry.Done)) { e.tell.Store(&tell) }

// ended passes on what ended outside of any launch. Without anybody to tell, it comes with
// the queue's next report.
func (e *Engine) ended(queue string) {
	tell := e.tell.Load()
	if tell == nil {
		return
	}
	if done := e.finished(queue); len(done) > 0 {
		(*tell)(queue, done)
	}
}

// finished are the done records of batches that ended outside of any launch.
func (e *Engine) finished(queue string) (done []telemetry.Done) {
	for _, b := range e.ring.Finished(queue) {
		done = append(done, e.doneRecord(queue, &b))
	}
	return done
}

// Cancel implements actors.Engine.
func (e *Engine) Cancel(queue, batch string) actors.Canceled {
	batches, slots := e.ring.Cancel(queue, batch)
	return actors.Canceled{Found: batches > 0, Slots: slots, Done: e.finished(queue)}
}
