package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
)

// rebuilder keeps the ring on a working device: when a context is lost, it opens the
// device again and moves the ring to it. Only the engine's goroutine uses it.
type rebuilder struct {
	reopen   func() (Device, error) // nil: what is lost stays lost
	patience time.Duration          // how long a launch waits for the device to be back; 0: until the watchdog ends the process
	log      *slog.Logger
	quit     chan struct{} // closed when there is nothing to wait for any more
	device   Device        // the one in use
	epoch    uint64
	lostAt   atomic.Pointer[time.Time] // nil: the device is there
}

// Pauses between attempts to open a lost device. Drivers take up to some seconds to
// reset a GPU.
const (
	firstReopen = 50 * time.Millisecond
	lastReopen  = time.Second
)

// lossPatience is the patience where no watchdog ends the process.
const lossPatience = 10 * time.Second

// errNoReopen is why a loss is final if the configuration has no way to open the device again.
var errNoReopen = errors.New("the device was not opened in a way that can be repeated")

// attend sets how long the rebuilder waits for a lost device: until the watchdog ends
// the process or, without a watchdog, for lossPatience.
func (r *rebuilder) attend(w *watchdog) {
	r.quit = make(chan struct{})
	if w == nil {
		r.patience = lossPatience
	}
}

// launch runs a launch, and runs it again if the device was lost and could be
// rebuilt. Engine.Move decides what becomes of the batches. After a second loss it
// returns the error; the caller may try again later.
func (r *rebuilder) launch(ring *megakernel.Engine, order megakernel.Order) (megakernel.Report, error) {
	report, err := ring.Launch(order)
	if err == nil || !r.lost(err) {
		return report, err
	}
	if failed := r.rebuild(ring, err); failed != nil {
		return report, fmt.Errorf("%w; not back yet: %w", err, failed)
	}
	return ring.Launch(order)
}

// lost tells whether an error means that the context is gone: either the error says
// so, or the driver does when it is asked.
func (r *rebuilder) lost(err error) bool {
	return gpu.Lost(err) || gpu.Lost(r.device.Do(func() error { return r.device.Check() }))
}

// rebuild opens the device again and moves the ring to it, as soon as that works.
// After an error everything is as before, and rebuild may be called again.
func (r *rebuilder) rebuild(ring *megakernel.Engine, loss error) error {
	begin := time.Now()
	r.lostAt.CompareAndSwap(nil, &begin)
	r.log.Warn("the device was lost", "epoch", r.epoch, "error", loss)
	if r.reopen == nil {
		return errNoReopen
	}
	for pause := firstReopen; ; pause = min(2*pause, lastReopen) {
		err := r.attempt(ring)
		if err == nil {
			break
		}
		r.log.Warn("the device is not back yet", "error", err)
		if r.patience > 0 && time.Since(begin) >= r.patience {
			return err
		}
		select {
		case <-time.After(pause):
		case <-r.quit:
			return err
		}
	}
	r.epoch++
	r.lostAt.Store(nil)
	r.log.Warn("the device is back", "epoch", r.epoch, "took", time.Since(begin))
	return nil
}

// repair rebuilds the device if it is lost, with no launch under way.
func (r *rebuilder) repair(ring *megakernel.Engine) {
	loss := r.device.Do(r.device.Check)
	if !gpu.Lost(loss) {
		return // repaired already
	}
	if err := r.rebuild(ring, loss); err != nil {
		r.log.Warn("the device is not back; the next launch tries again", "error", err)
	}
}

// attempt makes one attempt to rebuild.
func (r *rebuilder) attempt(ring *megakernel.Engine) error {
	next, err := r.reopen()
	if err != nil {
		return err
	}
	if err = sameDevice(r.device, next); err == nil {
		err = ring.Move(next)
	}
	if err != nil {
		go r.discard(next)
		return err
	}
	go r.discard(r.device) // the driver of a lost device may never return
	r.device = next
	return nil
}

// sameDevice refuses another device in place of the lost one: the limits of that one
// were announced, and a GPU that fell off the bus would silently become the CPU.
func sameDevice(was, is Device) error {
	a, b := was.Info(), is.Info()
	if a.Renderer != b.Renderer || a.Capabilities.DeviceUUID != b.Capabilities.DeviceUUID {
		return fmt.Errorf("%s answers in the place of %s", b.Renderer, a.Renderer)
	}
	return nil
}

func (r *rebuilder) discard(device Device) {
	if err := device.Close(); err != nil {
		r.log.Info("closing a lost device", "error", err)
	}
}

// close closes the device in use.
func (r *rebuilder) close() error { return r.device.Close() }
