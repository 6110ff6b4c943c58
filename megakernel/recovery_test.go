//go:build cgo

package megakernel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ringmaster/glcompute"
	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel"
	"ringmaster/megakernel/faultgl"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

// openFaulty opens a device with faults.
func openFaulty(t *testing.T, faults ...faultgl.Fault) *faultgl.Device {
	t.Helper()
	d := faultgl.Wrap(gltest.Open(t), faults...)
	t.Cleanup(d.Release) // before the device is closed
	return d
}

const (
	batchSlots  = 120
	batchStores = 24 // batches of stores, which can run again
	batchAdds   = 8  // batches of adds, which cannot
)

// trial is an engine with work, what came of it, and when.
type trial struct {
	t        *testing.T
	engine   *megakernel.Engine
	finished map[string]megakernel.BatchResult
	late     map[string]bool // finished after the last loss
	next     []*faultgl.Device
	losses   int
	order    megakernel.Order // of every launch, besides the queue
	single   bool             // one launch at a time
	launches int
	launched func(launches int) // is called after each
}

// beside is a second context in the share group of a device with faults.
type beside struct {
	*faultgl.Device
	closed chan struct{}
}

func (b beside) Close() error {
	close(b.closed)
	return b.Device.Device.(*glcompute.Device).Close()
}

// openBeside is a Config.Beside; it sends what it opened.
func openBeside(opened chan<- beside) func(gpu.Device) (gpu.Device, error) {
	return func(dev gpu.Device) (gpu.Device, error) {
		d := dev.(*faultgl.Device)
		shared, err := d.Device.(*glcompute.Device).OpenShared()
		if err != nil {
			return nil, err
		}
		b := beside{d.Beside(shared), make(chan struct{})}
		opened <- b
		return b, nil
	}
}

// smallConfig is the configuration of a ring that a software renderer clears soon.
func smallConfig() megakernel.Config {
	cfg := megakernel.DefaultConfig()
	cfg.Pages, cfg.MaxQueues, cfg.HeapWords = 128, 16, 16<<16
	return cfg
}

// newTrial makes an engine on the first device, which goes on with the others.
func newTrial(t *testing.T, change func(*megakernel.Config), devices ...*faultgl.Device) *trial {
	t.Helper()
	cfg := smallConfig()
	if change != nil {
		change(&cfg)
	}
	e, err := megakernel.New(devices[0], cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	x := &trial{t: t, engine: e, next: devices[1:], finished: map[string]megakernel.BatchResult{}, late: map[string]bool{},
		order: megakernel.Order{Geometry: policy.Geometry{Width: 32, Groups: 2, Chunk: 64, Depth: 500}}}
	for i := range batchStores {
		x.submit("stores", i, func(j int) ring.Slot {
			s := ring.Slot{Opcode: uint32(kernel.OpStore), Priority: uint32(j % ring.Priorities)}
			s.Args[0], s.Args[1] = uint32(i+1), uint32(i*batchSlots+j)
			if j == batchSlots/2 {
				s.Opcode = uint32(kernel.OpFence)
			}
			return s
		})
	}
	for i := range batchAdds {
		x.submit("adds", i, func(j int) ring.Slot {
			s := ring.Slot{Opcode: uint32(kernel.OpAdd)}
			s.Args[0], s.Args[1] = 1, uint32(i)
			return s
		})
	}
	return x
}

func (x *trial) submit(queue string, i int, slot func(j int) ring.Slot) {
	x.t.Helper()
	b := megakernel.Batch{ID: fmt.Sprint(queue, i)}
	for j := range batchSlots {
		b.Slots = append(b.Slots, slot(j))
	}
	if err := x.engine.Submit(queue, b); err != nil {
		x.t.Fatal(err)
	}
}

// run launches, several waves at a time, until everything is finished, and goes on
// with the next of the devices after a loss.
func (x *trial) run() {
	x.t.Helper()
	for x.engine.Pending("stores")+x.engine.Pending("adds") > 0 || len(x.finished) < batchStores+batchAdds {
		if x.round() {
			x.move()
			clear(x.late)
		}
	}
	// A loss may come, or be noticed, only after the last launch.
	if err := x.engine.Read("stores", 0, make([]uint32, 1)); gpu.Lost(err) {
		x.move()
		clear(x.late)
	} else if err != nil {
		x.t.Error(err)
	}
	if len(x.next) > 0 {
		x.t.Errorf("%d losses did not happen", len(x.next))
	}
}

// round is a launch of each queue, all of them started before the first is waited
// for, or one after the other. It reports whether the device was lost.
func (x *trial) round() (lost bool) {
	x.t.Helper()
	var waits []func() (megakernel.Report, error)
	for _, queue := range []string{"stores", "adds", "stores"} {
		order := x.order
		order.Queue = queue
		if x.single {
			waits = append(waits, func() (megakernel.Report, error) { return x.engine.Launch(order) })
			continue
		}
		ticket, err := x.engine.Start(order)
		if err != nil {
			x.t.Fatal(err)
		}
		waits = append(waits, func() (megakernel.Report, error) { return x.engine.Wait(context.Background(), ticket) })
	}
	for _, wait := range waits {
		report, err := wait()
		if err != nil && !gpu.Lost(err) {
			x.t.Fatal(err)
		}
		lost = lost || err != nil
		x.collect(&report)
		if x.launches++; x.launched != nil {
			x.launched(x.launches)
		}
	}
	return lost
}

func (x *trial) move() {
	x.t.Helper()
	if len(x.next) == 0 {
		x.t.Fatal("lost once more than expected")
	}
	if err := x.engine.Move(x.next[0]); err != nil {
		x.t.Fatal(err)
	}
	x.next = x.next[1:]
	x.losses++
}

func (x *trial) collect(report *megakernel.Report) {
	for _, b := range report.Finished {
		if _, twice := x.finished[b.ID]; twice {
			x.t.Errorf("batch %s finished twice", b.ID)
		}
		x.finished[b.ID] = b
		x.late[b.ID] = true
	}
}

// check demands that each batch was executed whole, or lost its heap if it may
// have, and that what ran since the last loss is in the heap exactly once.
func (x *trial) check(mayLose func(id string) bool) (lost int) {
	x.t.Helper()
	words := make([]uint32, batchStores*batchSlots)
	if err := x.engine.Read("stores", 0, words); err != nil {
		x.t.Fatal(err)
	}
	sums := make([]uint32, batchAdds)
	if err := x.engine.Read("adds", 0, sums); err != nil {
		x.t.Fatal(err)
	}
	for id, b := range x.finished {
		switch {
		case b.Executed == batchSlots && b.Faulted == 0 && b.Dropped == 0 && b.Err == nil:
		case errors.Is(b.Err, megakernel.ErrHeapLost) && mayLose(id) && b.Executed+b.Faulted+b.Dropped == batchSlots:
			lost++
			continue
		default:
			x.t.Errorf("batch %s: %d executed, %d faulted, %d dropped, %v", id, b.Executed, b.Faulted, b.Dropped, b.Err)
		}
		if !x.late[id] {
			continue // what it wrote is gone with the device
		}
		var i int
		if n, _ := fmt.Sscanf(id, "adds%d", &i); n == 1 {
			if sums[i] != batchSlots {
				x.t.Errorf("batch %s: the sum is %d, want %d", id, sums[i], batchSlots)
			}
			continue
		}
		fmt.Sscanf(id, "stores%d", &i)
		for j, word := range words[i*batchSlots : (i+1)*batchSlots] {
			if word != uint32(i+1) && j != batchSlots/2 {
				x.t.Errorf("batch %s: word %d is %d", id, j, word)
				break
			}
		}
	}
	return lost
}

func isAdds(id string) bool { return strings.HasPrefix(id, "adds") }

func TestNothingIsLostOrDoneTwiceWhereverTheDeviceIsReset(t *testing.T) {
	kinds := []faultgl.Kind{faultgl.Guilty, faultgl.Innocent, faultgl.Unknown}
	total := 0
	for dispatch := 1; dispatch <= 8; dispatch++ {
		fault := faultgl.Fault{Kind: kinds[dispatch%3], Dispatch: dispatch, After: dispatch%2 == 0}
		t.Run(fmt.Sprintf("%s at dispatch %d", fault.Kind, dispatch), func(t *testing.T) {
			x := newTrial(t, nil, openFaulty(t, fault), openFaulty(t))
			x.run()
			total += x.check(isAdds)
		})
	}
	if total == 0 {
		t.Error("no batch of adds was under way at any loss")
	}
}

// With a second context kernels are built there, from before the loss on and
// while the engine moves; the one of the lost device is closed, the other not.
func TestProgramsAreBuiltBesideTheNewDeviceAfterALoss(t *testing.T) {
	for dispatch := 1; dispatch <= 4; dispatch++ {
		opened := make(chan beside, 2)
		x := newTrial(t, func(c *megakernel.Config) { c.Beside = openBeside(opened) },
			openFaulty(t, faultgl.Fault{Kind: faultgl.Innocent, Dispatch: dispatch}), openFaulty(t))
		x.run()
		x.check(isAdds)
		lost, live := <-opened, <-opened
		<-lost.closed
		select {
		case <-live.closed:
			t.Error("the second context of the new device was closed")
		default:
		}
	}
}

// Small launches go to a resident kernel, which is lost with its device too: as it
// starts, or between two launches while it waits for more.
func TestNothingIsLostOrDoneTwiceAtTheResetOfAResidentKernel(t *testing.T) {
	for name, reset := range map[string]func(x *trial, dev *faultgl.Device){
		"never started": func(_ *trial, dev *faultgl.Device) { dev.Arm(faultgl.Fault{Kind: faultgl.Guilty, Dispatch: 1}) },
		"at its end": func(_ *trial, dev *faultgl.Device) {
			dev.Arm(faultgl.Fault{Kind: faultgl.Guilty, Dispatch: 1, After: true})
		},
		"while it waits": func(x *trial, dev *faultgl.Device) {
			x.launched = func(n int) {
				if n == 4 {
					dev.Fail(faultgl.Innocent)
				}
			}
		},
	} {
		for _, single := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, single %v", name, single), func(t *testing.T) {
				dev := openFaulty(t)
				x := newTrial(t, func(c *megakernel.Config) { c.Lease = true }, dev, openFaulty(t))
				if _, err := x.engine.LeaseSupport(); err != nil {
					gltest.Missing(t, "gl", err)
				}
				x.order.Mode, x.order.Geometry.Depth, x.single = megakernel.ModeLease, 200, single
				reset(x, dev)
				x.run()
				x.check(isAdds)
			})
		}
	}
}

func TestBatchRunsAgainOnceAndNotForEver(t *testing.T) {
	reset := faultgl.Fault{Kind: faultgl.Guilty, Dispatch: 2}
	x := newTrial(t, nil, openFaulty(t, reset), openFaulty(t, reset), openFaulty(t))
	x.run()
	lost := x.check(func(string) bool { return true })
	if lost <= batchAdds {
		t.Errorf("%d batches lost: those that were under way twice should be among them", lost)
	}
	// The engine is none the worse for it.
	x.submit("stores", 0, func(j int) ring.Slot {
		return ring.Slot{Opcode: uint32(kernel.OpStore), Args: [12]uint32{7, uint32(j)}}
	})
	report, err := x.engine.Launch(megakernel.Order{Queue: "stores", Geometry: policy.Geometry{Width: 32, Groups: 2, Chunk: 64}})
	if err != nil || len(report.Finished) != 1 || report.Finished[0].Executed != batchSlots {
		t.Errorf("%v, %+v", err, report)
	}
}

// A hang holds up who waits for the device, and nobody else; its end is a loss.
func TestHangHoldsUpWavesButNotSubmitters(t *testing.T) {
	dev := openFaulty(t, faultgl.Fault{Kind: faultgl.Hang, Dispatch: 2})
	x := newTrial(t, nil, dev, openFaulty(t))
	ticket, err := x.engine.Start(megakernel.Order{Queue: "stores", Geometry: policy.Geometry{Width: 32, Groups: 2, Chunk: 64}})
	if err != nil {
		t.Fatal(err)
	}
	<-dev.Hung()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.engine.Wait(canceled, ticket); !errors.Is(err, context.Canceled) {
		t.Errorf("a wave that hangs: %v", err)
	}
	if x.engine.Settled(ticket) {
		t.Error("a wave that hangs is settled")
	}
	before := x.engine.Pending("adds")
	x.submit("adds", 0, func(int) ring.Slot { return ring.Slot{Opcode: uint32(kernel.OpAdd), Args: [12]uint32{1}} })
	if got := x.engine.Pending("adds"); got != before+batchSlots {
		t.Errorf("%d slots pending, want %d", got, before+batchSlots)
	}
	dev.Release()
	if _, err := x.engine.Wait(t.Context(), ticket); !gpu.Lost(err) {
		t.Errorf("after the hang: %v", err)
	}
	x.move()
	if got := x.engine.Pending("stores"); got != batchStores*batchSlots {
		t.Errorf("%d slots pending, want %d", got, batchStores*batchSlots)
	}
}
