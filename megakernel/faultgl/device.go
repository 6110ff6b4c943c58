package faultgl

import (
	"fmt"
	"sync"
	"time"

	"ringmaster/megakernel/gpu"
)

// Kind is a kind of fault.
type Kind string

// Kinds of faults. The first three are resets.
const (
	Guilty   Kind = "guilty"   // a reset that this context caused
	Innocent Kind = "innocent" // a reset that another context caused
	Unknown  Kind = "unknown"  // a reset that nobody is known to have caused
	Hang     Kind = "hang"     // the dispatch never ends
)

// Fault is what happens at one dispatch.
type Fault struct {
	Kind     Kind
	Dispatch int  // which dispatch of the device, from 1
	After    bool // the dispatch still reaches the device, and finishes before a reset
}

// Loss is the error of a device after a reset.
type Loss struct{ Kind Kind }

func (l Loss) Error() string { return fmt.Sprintf("faultgl: the context is lost (%s)", l.Kind) }

// Lost marks the error as the loss of a context.
func (l Loss) Lost() bool { return true }

// Device is a device with faults. Calls that it does not name pass through.
type Device struct {
	gpu.Device
	*group
	faults []Fault
	count  int
}

// group is what happened to the contexts of a share group, which are reset together.
type group struct {
	mu       sync.Mutex
	loss     error
	hung     chan struct{} // closed when the hang begins
	released chan struct{} // closed by Release
	hanging  bool
	freed    bool
}

// Wrap puts a layer with faults over a device.
func Wrap(dev gpu.Device, faults ...Fault) *Device {
	return &Device{Device: dev, faults: faults, group: &group{hung: make(chan struct{}), released: make(chan struct{})}}
}

// Beside puts the layer over another context of d's share group: what happens to
// d happens to it, and its own dispatches cause nothing.
func (d *Device) Beside(dev gpu.Device) *Device {
	return &Device{Device: dev, group: d.group}
}

// Arm adds a fault whose dispatch counts from now, 1 being the next.
func (d *Device) Arm(f Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.Dispatch += d.count
	d.faults = append(d.faults, f)
}

// Dispatches is the number of dispatches so far.
func (d *Device) Dispatches() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}

// Hung is closed when a Hang has begun.
func (g *group) Hung() <-chan struct{} { return g.hung }

// Release ends a hang, now or as soon as it begins: whoever waited goes on, with
// a lost context. It may be called twice.
func (g *group) Release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.freed {
		g.freed = true
		close(g.released)
	}
}

// Fail lets the reset of a kind happen now, as the reset of an idle device.
func (g *group) Fail(k Kind) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail(k)
}

// fail makes a fault happen. Called with mu held.
func (g *group) fail(k Kind) {
	if k != Hang {
		g.loss = Loss{k}
	} else if !g.hanging {
		g.hanging = true
		close(g.hung)
	}
}

// dispatch counts a dispatch, runs it if it still reaches the device, and makes
// its fault happen.
func (d *Device) dispatch(run func()) {
	d.mu.Lock()
	d.count++
	var fault Fault
	for _, f := range d.faults {
		if f.Dispatch == d.count {
			fault = f
		}
	}
	reaches := d.loss == nil && !d.hanging && (fault.Kind == "" || fault.After)
	d.mu.Unlock()
	if reaches {
		run()
		if fault.After {
			d.Device.Finish()
		}
	}
	if fault.Kind != "" {
		d.Fail(fault.Kind)
	}
}

// wait blocks while the device hangs, at most for a time if limit is positive,
// and returns the loss if there is one and whether the device still hangs.
func (g *group) wait(limit time.Duration) (loss error, hangs bool) {
	g.mu.Lock()
	hanging, loss := g.hanging, g.loss
	g.mu.Unlock()
	if !hanging {
		return loss, false
	}
	var expired <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-g.released:
	case <-expired:
		return nil, true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hanging = false
	g.fail(Unknown)
	return g.loss, false
}
