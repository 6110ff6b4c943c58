package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"ringmaster/megakernel"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

// feed is slots on their way from their producers to their end.
type feed struct {
	*session
	geometry  policy.Geometry
	producers int // goroutines that submit
	batch     int // slots of a batch
	depth     int // most slots of a wave
	waves     int // of a round, on average
	engine    *megakernel.Engine
}

const feedQueue = "bench"

// benchFeed compares the rate at which continuous producers get slots done with the rate at which the device
// drains waves of the same depth whose slots it has already. A software renderer fills its cores with fewer.
func benchFeed(s *session) error {
	f := feed{session: s, geometry: policy.Geometry{Width: 256, Groups: 8, Chunk: 1024}, producers: 2, batch: 4096, depth: 64 << 10, waves: 20}
	if !s.device.Info().Software {
		f.geometry = policy.Geometry{Width: 512, Groups: 528, Chunk: 2048}
		f.producers, f.batch, f.depth = 8, 32<<10, 512<<10
	}
	if s.flags.Slots > 0 {
		f.depth, f.batch = s.flags.Slots, min(f.batch, s.flags.Slots)
	}
	c := megakernel.DefaultConfig()
	c.MaxQueues, c.WindowWords, c.HeapWords = 1, drainHeapWords, drainHeapWords
	c.MaxBatchSlots = max(f.batch, f.depth)
	c.MaxPending = max(6*f.depth, c.MaxBatchSlots)
	c.Pages = 7*f.depth/ring.PageSlots + f.producers*(f.batch/ring.PageSlots+1) + ring.Priorities
	var err error
	if f.engine, err = megakernel.New(s.device, c); err != nil {
		return err
	}
	defer func() { _ = f.engine.Close() }()
	if _, err := exactly(1).take(s.ctx, f.drain, f.feed); err != nil { // warms up
		return err
	}
	r, err := exactly(5).take(s.ctx, f.drain, f.feed)
	if err != nil {
		return err
	}
	s.row(row{
		Name: fmt.Sprintf("ring/feed/%d producers", f.producers), Value: r.median(1), Unit: "slots/s",
		Yardstick: "draining alone, waves of the same depth", YardstickValue: r.median(0),
	})
	return nil
}

// slots is a batch of nop, store, add and load in turn.
func (f *feed) slots(n, from int) []ring.Slot {
	mix := [...]kernel.Opcode{kernel.OpNop, kernel.OpStore, kernel.OpAdd, kernel.OpLoad}
	slots := make([]ring.Slot, n)
	for i := range slots {
		word := uint32((from + i) % drainHeapWords)
		slots[i] = ring.Slot{Opcode: uint32(mix[i%len(mix)]), Priority: ring.PriorityNormal, Args: [12]uint32{word, word}}
	}
	return slots
}

// drain is the rate of waves whose slots the device has, in slots/s.
func (f *feed) drain() (float64, error) {
	slots := f.slots(f.depth, 0)
	var ran, ns uint64
	for range f.waves {
		if err := f.engine.Submit(feedQueue, megakernel.Batch{Slots: slots}); err != nil {
			return 0, err
		}
		r, err := f.engine.Launch(megakernel.Order{Queue: feedQueue, Geometry: f.geometry})
		if err != nil {
			return 0, err
		}
		ran, ns = ran+uint64(r.Executed), ns+r.ElapsedNs
	}
	return float64(ran) * 1e9 / float64(ns), nil
}

// feed is the rate from the first submission to the last report, in slots/s.
func (f *feed) feed() (float64, error) {
	each := f.waves * f.depth / f.batch / f.producers
	begin := time.Now()
	var producers sync.WaitGroup
	failed := make(chan error, f.producers)
	for p := range f.producers {
		producers.Go(func() {
			slots := f.slots(f.batch, p*f.batch)
			for i := 0; i < each; {
				switch err := f.engine.Submit(feedQueue, megakernel.Batch{Slots: slots}); {
				case err == nil:
					i++
				case errors.Is(err, megakernel.ErrBacklog):
					time.Sleep(50 * time.Microsecond)
				default:
					failed <- err
					return
				}
			}
		})
	}
	ran, err := f.drainAll(each*f.producers*f.batch, failed)
	producers.Wait()
	return float64(ran) / time.Since(begin).Seconds(), err
}

// drainAll keeps waves in flight until n slots have run.
func (f *feed) drainAll(n int, failed <-chan error) (ran int, err error) {
	var inFlight []megakernel.Ticket
	bounded := f.geometry
	bounded.Depth = uint32(f.depth)
	for ran < n {
		select {
		case err := <-failed:
			return ran, err
		default:
		}
		for len(inFlight) == 0 || f.engine.Pending(feedQueue) >= len(inFlight)*f.depth+f.depth/2 { // no small waves while one runs
			t, err := f.engine.Start(megakernel.Order{Queue: feedQueue, Geometry: bounded})
			if err != nil {
				break // nothing is submitted yet, or as many as may be are in flight
			}
			inFlight = append(inFlight, t)
		}
		if len(inFlight) == 0 {
			continue
		}
		r, err := f.engine.Wait(f.ctx, inFlight[0])
		if err != nil {
			return ran, err
		}
		if r.Faulted > 0 {
			return ran, fmt.Errorf("%d slots faulted", r.Faulted)
		}
		inFlight = append(inFlight[:0], inFlight[1:]...)
		ran += int(r.Executed)
	}
	return ran, nil
}
