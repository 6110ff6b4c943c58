package megakernel

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/ring"
)

// FeedConfig is what FeedBench runs.
type FeedConfig struct {
	Geometry  Geometry
	Producers int // goroutines that submit
	Batch     int // slots of a batch
	Depth     int // most slots of a wave
	Waves     int // of a round, on average
	Rounds    int // of either side, in turn
}

// FeedResult is the rate at which continuous producers get slots done, beside
// the rate at which the device drains waves of the same depth whose slots it
// has already. Both in slots/s, median of the rounds.
type FeedResult struct {
	Feed, Drain         float64
	FeedBest, DrainBest float64
}

// FeedBench measures the whole way of a slot, submit to done, with results
// taken over, against draining alone. The slots are nop, store, add and load in
// turn.
func FeedBench(dev gpu.Device, cfg FeedConfig) (FeedResult, error) {
	c := DefaultConfig()
	c.MaxQueues = 1
	c.WindowWords = drainHeapWords
	c.HeapWords = drainHeapWords
	c.MaxBatchSlots = max(cfg.Batch, cfg.Depth)
	c.Pages = 7*cfg.Depth/ring.PageSlots + cfg.Producers*(cfg.Batch/ring.PageSlots+1) + ring.Priorities
	c.MaxPending = 6 * cfg.Depth
	c.MaxPending = max(c.MaxPending, c.MaxBatchSlots)
	e, err := New(dev, c)
	if err != nil {
		return FeedResult{}, err
	}
	defer func() { _ = e.Close() }()
	var feed, drain []float64
	for round := range cfg.Rounds + 1 {
		d, err := e.benchDrain(&cfg)
		if err != nil {
			return FeedResult{}, err
		}
		f, err := e.benchFeed(&cfg)
		if err != nil {
			return FeedResult{}, err
		}
		if round > 0 { // the first warms up
			feed, drain = append(feed, f), append(drain, d)
		}
	}
	slices.Sort(feed)
	slices.Sort(drain)
	n := len(feed)
	return FeedResult{Feed: feed[n/2], Drain: drain[n/2], FeedBest: feed[n-1], DrainBest: drain[n-1]}, nil
}

const feedQueue = "bench"

// feedSlots is a batch of the mix.
func feedSlots(n, from int) []ring.Slot {
	mix := [...]Opcode{OpNop, OpStore, OpAdd, OpLoad}
	slots := make([]ring.Slot, n)
	for i := range slots {
		word := uint32((from + i) % drainHeapWords)
		slots[i] = ring.Slot{Opcode: uint32(mix[i%len(mix)]), Priority: ring.PriorityNormal}
		slots[i].Args[0], slots[i].Args[1] = word, word
	}
	return slots
}

// benchDrain is the rate of waves whose slots the device has.
func (e *Engine) benchDrain(cfg *FeedConfig) (float64, error) {
	slots := feedSlots(cfg.Depth, 0)
	var ran, ns uint64
	for range cfg.Waves {
		if err := e.Submit(feedQueue, Batch{Slots: slots}); err != nil {
			return 0, err
		}
		r, err := e.Launch(Order{Queue: feedQueue, Geometry: cfg.Geometry})
		if err != nil {
			return 0, err
		}
		ran += uint64(r.Executed)
		ns += r.ElapsedNs
	}
	return float64(ran) * 1e9 / float64(ns), nil
}

// benchFeed is the rate from the first submission to the last report.
func (e *Engine) benchFeed(cfg *FeedConfig) (float64, error) {
	total := cfg.Waves * cfg.Depth / cfg.Batch / cfg.Producers * cfg.Producers
	// Each producer keeps as many batches on their way as there is room for, and
	// uses the slots of a finished one again.
	kept := 6*cfg.Depth/cfg.Batch/cfg.Producers + 2
	free := make([]chan []ring.Slot, cfg.Producers)
	for p := range free {
		free[p] = make(chan []ring.Slot, kept)
		for i := range kept {
			free[p] <- feedSlots(cfg.Batch, (p*kept+i)*cfg.Batch)
		}
	}
	begin := time.Now()
	var producers sync.WaitGroup
	failed := make(chan error, cfg.Producers)
	for _, free := range free {
		producers.Go(func() {
			for range total / cfg.Producers {
				slots := <-free
				done := func(*BatchResult) { free <- slots }
				if err := e.SubmitContext(context.Background(), feedQueue, Batch{Slots: slots, Done: done}); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	ran, err := e.benchWaves(cfg, total*cfg.Batch, failed)
	producers.Wait()
	return float64(ran) / time.Since(begin).Seconds(), err
}

// benchWaves keeps waves in flight until n slots have run.
func (e *Engine) benchWaves(cfg *FeedConfig, n int, failed chan error) (int, error) {
	var flying []Ticket
	ran := 0
	for ran < n {
		select {
		case err := <-failed:
			return ran, err
		default:
		}
		for len(flying) < len(e.flights) && (e.Ready(feedQueue) >= cfg.Depth/2 || len(flying) == 0) {
			t, err := e.Start(Order{Queue: feedQueue, Geometry: cfg.Geometry, BatchDepth: uint32(cfg.Depth)})
			if err != nil {
				if len(flying) == 0 {
					continue // nothing was submitted yet
				}
				break
			}
			flying = append(flying, t)
		}
		if len(flying) == 0 {
			continue
		}
		r, err := e.Wait(context.Background(), flying[0])
		if err != nil {
			return ran, err
		}
		if r.Faulted > 0 {
			return ran, fmt.Errorf("megakernel: bench: %d slots faulted", r.Faulted)
		}
		flying = append(flying[:0], flying[1:]...)
		ran += int(r.Executed)
	}
	return ran, nil
}
