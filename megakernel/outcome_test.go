//go:build cgo

package megakernel

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/lease"
	"ringmaster/ring"
)

// forgetfulDevice is a real device that, while hide is set, shows the done word of the
// lease's last round as it was before, as if the kernel had ended within the round.
type forgetfulDevice struct {
	gpu.Device
	hide atomic.Bool
	last atomic.Uint32
}

func (d *forgetfulDevice) LoadWord(buffer gpu.Buffer, offset int) uint32 {
	value := d.Device.LoadWord(buffer, offset)
	if offset != kernel.MailDone*ring.WordBytes {
		return value
	}
	if d.hide.Load() {
		return d.last.Load()
	}
	d.last.Store(value)
	return value
}

func TestLeaseRoundOfUnknownOutcomeFailsItsLaunch(t *testing.T) {
	dev := &forgetfulDevice{Device: openDevice(t)}
	e := newEngine(t, dev, func(c *Config) { c.Lease = true })
	order := Order{Queue: "q", Geometry: testGeometry, Mode: ModeLease}
	submit(t, e, "q", Batch{ID: "warm", Slots: nops(1, 0)})
	if r := launch(t, e, order); !r.Leased {
		t.Fatalf("no lease: %+v", r)
	}
	submit(t, e, "q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpAdd, 0, 1, 9)}})
	dev.hide.Store(true)
	failed := 0
	for range 5 {
		if _, err := e.Launch(order); errors.Is(err, lease.ErrBroken) {
			failed++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	words := make([]uint32, 1)
	if err := e.Read("q", 9, words); err != nil {
		t.Fatal(err)
	}
	if int(words[0]) > 1+failed || failed != 1 || e.Pending("q") != 0 {
		t.Errorf("the slot ran %d times, %d launches failed, %d slots pending", words[0], failed, e.Pending("q"))
	}
}

// queueingDevice counts the uses of its thread between a wave's fence and the first look
// at it. Only the pump uses it.
type queueingDevice struct {
	gpu.Device
	passed, most int
	flying       bool
}

func (d *queueingDevice) Do(fn func() error) error {
	if d.flying {
		d.passed++
		d.most = max(d.most, d.passed)
	}
	return d.Device.Do(fn)
}

func (d *queueingDevice) InsertFence() gpu.Fence {
	d.flying, d.passed = true, 0
	return d.Device.InsertFence()
}

func (d *queueingDevice) WaitFence(fence gpu.Fence, timeoutNs uint64) (bool, error) {
	d.passed = 0
	done, err := d.Device.WaitFence(fence, timeoutNs)
	d.flying = d.flying && !done
	return done, err
}

func TestTransfersDoNotPassAWaveWithoutBound(t *testing.T) {
	dev := &queueingDevice{Device: openDevice(t)}
	e := newEngine(t, dev, nil)
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for range 64 {
		writers.Go(func() {
			for words := make([]uint32, 16); ; {
				select {
				case <-stop:
					return
				default:
				}
				if err := e.Write("h", 0, words); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 50 {
		submit(t, e, "q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpAdd, 0, 1, 9)}})
		if r := wait(t, e, start(t, e, Order{Queue: "q", Geometry: testGeometry})); r.Executed != 1 {
			t.Errorf("report %+v", r)
		}
	}
	close(stop)
	writers.Wait()
	if dev.most > 4 {
		t.Errorf("the device was used %d times before anybody looked after a wave", dev.most)
	}
}

// fencedDevice counts fences, and finishes of the device; waits for fences fail, and Check
// fails once after a dispatch, when it is told so.
type fencedDevice struct {
	gpu.Device
	made, deleted, finished int
	failWait, failCheck     bool
	dispatched              bool
}

func (d *fencedDevice) InsertFence() gpu.Fence { d.made++; return d.Device.InsertFence() }
func (d *fencedDevice) DeleteFence(fence gpu.Fence) {
	d.deleted++
	d.Device.DeleteFence(fence)
}
func (d *fencedDevice) Finish() { d.finished++; d.Device.Finish() }
func (d *fencedDevice) WaitFence(fence gpu.Fence, timeoutNs uint64) (bool, error) {
	if d.failWait {
		return false, errInjected
	}
	return d.Device.WaitFence(fence, timeoutNs)
}
func (d *fencedDevice) Dispatch(program gpu.Program, groups uint32) {
	d.dispatched = true
	d.Device.Dispatch(program, groups)
}
func (d *fencedDevice) Check() error {
	if d.failCheck && d.dispatched {
		return errors.Join(errInjected, d.Device.Check())
	}
	return d.Device.Check()
}

func TestFailedWavesLeaveNoFenceAndNothingRunning(t *testing.T) {
	for name, fail := range map[string]func(*fencedDevice){
		"wait":  func(d *fencedDevice) { d.failWait = true },
		"check": func(d *fencedDevice) { d.failCheck, d.dispatched = true, false },
	} {
		for way, run := range map[string]func(*Engine, Order) error{
			"launch": func(e *Engine, o Order) error { _, err := e.Launch(o); return err },
			"start": func(e *Engine, o Order) error {
				ticket, err := e.Start(o)
				if err == nil {
					_, err = e.Wait(context.Background(), ticket)
				}
				return err
			},
		} {
			t.Run(name+"/"+way, func(t *testing.T) {
				dev := &fencedDevice{Device: openDevice(t)}
				e := newEngine(t, dev, nil)
				order := Order{Queue: "q", Geometry: testGeometry}
				submit(t, e, "q", Batch{ID: "warm", Slots: nops(1, 0)})
				launch(t, e, order)
				submit(t, e, "q", Batch{ID: "b", Slots: nops(100, 0)})
				fail(dev)
				const times = 10
				finished := dev.finished
				for range times {
					if err := run(e, order); !errors.Is(err, errInjected) {
						t.Errorf("error %v", err)
					}
				}
				if dev.finished-finished < times {
					t.Errorf("the device was finished %d times for %d waves that may still run", dev.finished-finished, times)
				}
				dev.failWait, dev.failCheck = false, false
				if r := launch(t, e, order); r.Executed != 100 {
					t.Errorf("report %+v", r)
				}
				if dev.made != dev.deleted {
					t.Errorf("%d fences made, %d deleted", dev.made, dev.deleted)
				}
			})
		}
	}
}

func TestWaitersOfOneTicketTakeNobodyElsesReport(t *testing.T) {
	dev := &faultyDevice{Device: openDevice(t), hold: make(chan struct{})}
	e := newEngine(t, dev, func(c *Config) { c.InFlight = 1 })
	submit(t, e, "q", Batch{ID: "b", Slots: slices.Repeat([]ring.Slot{slot(kernel.OpNop, 1)}, 2)})
	order := Order{Queue: "q", Geometry: testGeometryAt(1)}
	first := start(t, e, order)
	got := make(chan error, 3)
	for range 3 {
		go func() {
			_, err := e.Wait(t.Context(), first)
			got <- err
		}()
	}
	close(dev.hold)
	reports := 0
	for range 3 {
		switch err := <-got; {
		case err == nil:
			reports++
		case !errors.Is(err, ErrTicket):
			t.Error(err)
		}
	}
	if reports != 1 {
		t.Errorf("the report was handed out %d times", reports)
	}
	wait(t, e, start(t, e, order))
}

func TestDeadlinesPassWithoutALaunch(t *testing.T) {
	ended := make(chan string, 1)
	e := newEngine(t, openDevice(t), func(c *Config) { c.Ended = func(queue string) { ended <- queue } })
	later := time.Now().Add(time.Hour)
	submit(t, e, "q", Batch{ID: "later", Slots: nops(10, 2), Deadline: later})
	submit(t, e, "q", Batch{ID: "soon", Slots: nops(100, 2), Deadline: time.Now().Add(20 * time.Millisecond)})
	if queue := <-ended; queue != "q" {
		t.Errorf("told of queue %q", queue)
	}
	got := e.Finished("q")
	if len(got) != 1 || got[0].ID != "soon" || got[0].Dropped != 100 || !errors.Is(got[0].Err, ErrDeadline) || e.Pending("q") != 10 {
		t.Errorf("finished %+v, %d pending", got, e.Pending("q"))
	}
}

func TestBatchCanceledWhileALaunchWritesItIsReported(t *testing.T) {
	entered, open := make(chan struct{}), make(chan struct{})
	dev := &gatedStaging{Device: openDevice(t)}
	e := newEngine(t, dev, func(c *Config) { c.MaxQueues, c.Pages = 1, ring.Priorities })
	submit(t, e, "q", Batch{ID: "a", Slots: nops(ring.PageSlots, 2)})
	submit(t, e, "q", Batch{ID: "b", Slots: nops(1, 2)}) // waits for a page
	order := Order{Queue: "q", Geometry: testGeometry}
	launch(t, e, order)
	dev.gate.Store(&gate{entered, open})
	reported := make(chan Report, 1)
	go func() {
		r, err := e.Launch(order)
		if err != nil {
			t.Error(err)
		}
		reported <- r
	}()
	<-entered
	e.Cancel("q", "b")
	close(open)
	finished := append((<-reported).Finished, e.Finished("q")...)
	if len(finished) != 1 || finished[0].ID != "b" || finished[0].Dropped != 1 {
		t.Errorf("finished %+v", finished)
	}
}

type gate struct{ entered, open chan struct{} }

// gatedStaging is a real device that stops at the next write to staging memory.
type gatedStaging struct {
	gpu.Device
	gate atomic.Pointer[gate]
}

func (d *gatedStaging) StoreMapped(buffer gpu.Buffer, offset int, data []byte) {
	if g := d.gate.Swap(nil); g != nil {
		close(g.entered)
		<-g.open
	}
	d.Device.StoreMapped(buffer, offset, data)
}
