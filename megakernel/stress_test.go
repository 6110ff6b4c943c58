//go:build cgo

package megakernel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/ring"
)

// TestEveryBatchEndsOnceWhateverHappens lets producers submit to queues that
// are launched, several waves at a time, while dispatches fail, batches are
// canceled or run out of time, and queues are released and made anew. Every
// batch that was taken is reported once, every slot of it is accounted for, and
// nothing is left behind.
func TestEveryBatchEndsOnceWhateverHappens(t *testing.T) {
	for name, dev := range waysOfMemory(openDevice(t)) {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3) {
				stress(t, dev, seed)
			}
		})
	}
}

func stress(t *testing.T, dev gpu.Device, seed uint64) {
	fails := rand.New(rand.NewPCG(seed, 1))
	e := newEngine(t, &faultyDevice{Device: dev, failAt: func(n int) bool { return n > 4 && fails.IntN(15) == 0 }},
		func(c *Config) {
			c.MaxQueues, c.Pages, c.InFlight, c.MaxPending, c.MaxBatchSlots = 4, 40, 4, 20_000, 4000
		})
	const producers, batches = 4, 60
	var taken, ended, slots, counted atomic.Int64
	var producing sync.WaitGroup
	for p := range producers {
		producing.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(10+p)))
			queue := fmt.Sprint("q", p%3)
			for i := range batches {
				b := randomBatch(r, fmt.Sprint(p, "-", i))
				n := len(b.Slots)
				var done atomic.Bool
				b.Done = func(result *BatchResult) {
					if done.Swap(true) {
						t.Errorf("batch %s ended twice", b.ID)
					}
					ended.Add(1)
					counted.Add(int64(result.Executed + result.Faulted + result.Dropped))
					if (result.Dropped > 0) != (result.Err != nil) {
						t.Errorf("batch %s: %d slots dropped, error %v", b.ID, result.Dropped, result.Err)
					}
				}
				if err := e.SubmitContext(context.Background(), queue, b); err != nil {
					t.Error(err)
					return
				}
				taken.Add(1)
				slots.Add(int64(n))
				switch r.IntN(20) {
				case 0, 1, 2:
					e.Cancel(queue, b.ID)
				case 3:
					if p == 0 {
						_ = e.Release(queue) // another producer may have released it
					}
				}
			}
		})
	}
	stop := make(chan struct{})
	go func() { producing.Wait(); close(stop) }()
	stressLaunches(t, e, rand.New(rand.NewPCG(seed, 2)), stop)
	if taken.Load() != ended.Load() || slots.Load() != counted.Load() {
		t.Errorf("seed %d: %d batches of %d ended, %d slots of %d are accounted for", seed, ended.Load(), taken.Load(), counted.Load(), slots.Load())
	}
	s := e.Stats()
	if s.Pending != 0 || s.InFlight != 0 || s.FreePages != e.pool.Pages() || e.first != 0 || len(e.free) != len(e.batches) {
		t.Errorf("seed %d: left behind: %+v, %d first pages, %d batch numbers of %d free", seed, s, e.first, len(e.free), len(e.batches))
	}
}

// stressLaunches keeps waves in flight until the producers are done and nothing
// is pending.
func stressLaunches(t *testing.T, e *Engine, r *rand.Rand, stop chan struct{}) {
	var flying []Ticket
	for running := true; ; {
		select {
		case <-stop:
			running = false
		default:
		}
		idle := !running && e.Stats().Pending == 0
		if idle && len(flying) == 0 {
			return
		}
		if !idle && len(flying) < 4 {
			order := Order{Queue: fmt.Sprint("q", r.IntN(3)), Geometry: testGeometry, BatchDepth: uint32(r.IntN(3) * 500)}
			ticket, err := e.Start(order)
			if err == nil {
				flying = append(flying, ticket)
			} else if !errors.Is(err, ErrQueue) {
				t.Fatal(err)
			}
		}
		if len(flying) > 0 && (idle || len(flying) == 4 || r.IntN(2) == 0) {
			i := r.IntN(len(flying))
			if _, err := e.Wait(context.Background(), flying[i]); err != nil && !errors.Is(err, errInjected) {
				t.Fatal(err)
			}
			flying = append(flying[:i], flying[i+1:]...)
		}
	}
}

// randomBatch has slots of every priority, fences, and often a deadline.
func randomBatch(r *rand.Rand, id string) Batch {
	b := Batch{ID: id, WantResults: r.IntN(2) == 0}
	for range 1 + r.IntN(1200) {
		op := []Opcode{OpNop, OpStore, OpAdd, OpLoad, OpFault, OpYield}[r.IntN(6)]
		if r.IntN(300) == 0 {
			op = OpFence
		}
		b.Slots = append(b.Slots, slot(op, r.Uint32N(ring.Priorities), r.Uint32N(3), r.Uint32N(100)))
	}
	if r.IntN(4) == 0 {
		b.Deadline = time.Now().Add(time.Duration(r.IntN(20)) * time.Millisecond)
	}
	return b
}
