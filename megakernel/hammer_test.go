//go:build cgo

package megakernel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/lease"
	"ringmaster/ring"
)

// TestHammer lets everything that an engine does happen at once: producers submit and
// cancel, deadlines pass, waves run inline, in flight and on a lease while dispatches fail,
// windows are read, written and taken over by other queues, the device is borrowed, the
// engine moves and is closed. Every batch that was taken is reported once, or pending when
// the engine was closed.
func TestHammer(t *testing.T) {
	for name, dev := range waysOfMemory(openDevice(t)) {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(2) {
				hammer(t, dev, seed)
			}
		})
	}
}

// oracle knows what was taken and what was reported.
type oracle struct {
	t     *testing.T
	mu    sync.Mutex
	taken map[string]int // slots, by batch; those not reported
	total int
}

// take notes a batch that is about to be submitted.
func (o *oracle) take(id string, slots int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken[id] = slots
	o.total++
}

// refuse takes that back.
func (o *oracle) refuse(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.taken, id)
	o.total--
}

func (o *oracle) report(results []BatchResult) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range results {
		r := &results[i]
		slots, ok := o.taken[r.ID]
		if !ok {
			o.t.Errorf("batch %s was reported and not taken, or twice", r.ID)
		}
		if int(r.Executed+r.Faulted+r.Dropped) != slots || (r.Err != nil) != (r.Dropped > 0) || len(r.Faults) != int(r.Faulted) {
			o.t.Errorf("batch %s of %d slots: %+v", r.ID, slots, r)
		}
		delete(o.taken, r.ID)
	}
}

func hammer(t *testing.T, dev gpu.Device, seed uint64) {
	o := &oracle{t: t, taken: map[string]int{}}
	var mu sync.Mutex
	fails := rand.New(rand.NewPCG(seed, 1))
	faulty := func() gpu.Device {
		return &faultyDevice{Device: dev, failAt: func(n int) bool {
			mu.Lock()
			defer mu.Unlock()
			return n > 4 && fails.IntN(25) == 0
		}}
	}
	cfg := DefaultConfig()
	cfg.MaxQueues, cfg.Pages, cfg.InFlight, cfg.MaxPending, cfg.MaxBatchSlots = 4, 40, 4, 20_000, 4000
	cfg.WindowWords, cfg.HeapWords, cfg.WindowHold = 1<<12, 4<<12, 0
	cfg.Lease = seed%2 == 1
	var e *Engine
	ready := make(chan struct{})
	cfg.Ended = func(queue string) {
		<-ready
		o.report(e.Finished(queue))
	}
	var err error
	if e, err = New(faulty(), cfg); err != nil {
		t.Fatal(err)
	}
	e.hands = maxHands // whatever the number of processors here
	close(ready)

	var producers, others sync.WaitGroup
	stop := make(chan struct{})
	for p := range 4 {
		producers.Go(func() { produce(t, e, o, rand.New(rand.NewPCG(seed, uint64(10+p))), p) })
		others.Go(func() { launches(t, e, o, rand.New(rand.NewPCG(seed, uint64(20+p))), stop) })
	}
	others.Go(func() { disturb(t, e, faulty, rand.New(rand.NewPCG(seed, 30)), stop) })
	producers.Wait()
	for deadline := time.Now().Add(time.Minute); e.Stats().Pending > 0 && time.Now().Before(deadline); {
		for i := range 6 {
			if r, err := e.Launch(Order{Queue: fmt.Sprint("q", i), Geometry: testGeometry}); err == nil {
				o.report(r.Finished)
			}
		}
	}
	close(stop)
	others.Wait()
	s := e.Stats()
	if err := e.Close(); err != nil && !errors.Is(err, errInjected) {
		t.Error(err)
	}
	for i := range 6 {
		o.report(e.Finished(fmt.Sprint("q", i)))
	}
	if len(o.taken) > 0 || s.Pending != 0 || s.InFlight != 0 || s.FreePages != cfg.Pages || o.total < 100 {
		t.Errorf("seed %d: of %d batches left behind: %v, %+v", seed, o.total, o.taken, s)
	}
}

// produce submits batches to queues of which not all can have a window at a time, and
// cancels some.
func produce(t *testing.T, e *Engine, o *oracle, r *rand.Rand, p int) {
	for i := range 50 {
		b := randomBatch(r, fmt.Sprint(p, "-", i))
		queue := fmt.Sprint("q", r.IntN(6))
		o.take(b.ID, len(b.Slots))
		var err error
		for range 100_000 { // a queue may wait long for a window
			if err = e.Submit(queue, b); err == nil || !errors.Is(err, ErrBacklog) && !errors.Is(err, ErrQueues) && !errors.Is(err, ErrMoving) {
				break
			}
			runtime.Gosched()
		}
		switch {
		case errors.Is(err, ErrBacklog), errors.Is(err, ErrQueues), errors.Is(err, ErrMoving):
			o.refuse(b.ID)
		case err != nil:
			t.Error(err)
			return
		case r.IntN(6) == 0:
			e.Cancel(queue, b.ID)
			o.report(e.Finished(queue))
		}
	}
}

// launches runs waves of every kind until it is told to stop.
func launches(t *testing.T, e *Engine, o *oracle, r *rand.Rand, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		order := Order{
			Queue: fmt.Sprint("q", r.IntN(6)), Geometry: testGeometryAt(uint32(r.IntN(3) * 300)),
			Mode: LaunchMode(r.IntN(3)), Fuse: r.IntN(2) == 0,
		}
		var report Report
		var err error
		if r.IntN(2) == 0 {
			report, err = e.Launch(order)
		} else {
			var ticket Ticket
			if ticket, err = e.Start(order); err == nil {
				report, err = e.Wait(context.Background(), ticket)
			}
		}
		o.report(report.Finished)
		if err != nil && !errors.Is(err, errInjected) && !errors.Is(err, ErrQueue) && !errors.Is(err, ErrInFlight) &&
			!errors.Is(err, ErrMoving) && !errors.Is(err, lease.ErrBroken) {
			t.Error(err)
			return
		}
	}
}

// disturb transfers, borrows the device and moves.
func disturb(t *testing.T, e *Engine, faulty func() gpu.Device, r *rand.Rand, stop chan struct{}) {
	for words := make([]uint32, 64); ; {
		select {
		case <-stop:
			return
		default:
		}
		var err error
		switch queue := fmt.Sprint("q", r.IntN(6)); r.IntN(40) {
		case 0:
			err = e.Move(faulty())
		case 1, 2, 3:
			err = e.Borrow(func(dev gpu.Device) error { return dev.Do(func() error { dev.Finish(); return nil }) })
		case 4, 5:
			err = e.Read(queue, 8, words)
		case 6:
			_, _, err = e.Prints()
		default:
			err = e.Write(queue, 8, words)
		}
		if err != nil && !errors.Is(err, ErrQueue) && !errors.Is(err, ErrQueues) && !errors.Is(err, ErrMoving) && !errors.Is(err, errInjected) {
			t.Error(err)
			return
		}
	}
}

// randomBatch has slots of every priority, fences, and often a deadline.
func randomBatch(r *rand.Rand, id string) Batch {
	b := Batch{ID: id, WantResults: r.IntN(2) == 0}
	for range 1 + r.IntN(1200) {
		op := []kernel.Opcode{kernel.OpNop, kernel.OpStore, kernel.OpAdd, kernel.OpLoad, kernel.OpFault, kernel.OpYield}[r.IntN(6)]
		if r.IntN(300) == 0 {
			op = kernel.OpFence
		}
		b.Slots = append(b.Slots, slot(op, r.Uint32N(ring.Priorities), r.Uint32N(3), r.Uint32N(100)))
	}
	if r.IntN(4) == 0 {
		b.Deadline = time.Now().Add(time.Duration(r.IntN(20)) * time.Millisecond)
	}
	return b
}
