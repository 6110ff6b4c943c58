//go:build cgo

package megakernel

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

// fourWindows is an engine with four windows and a clock of the test's, in seconds. The
// engine's own goroutine reads the clock too.
func fourWindows(t *testing.T) (e *Engine, seconds *atomic.Int64) {
	seconds = new(atomic.Int64)
	seconds.Store(1_000_000)
	return newEngine(t, openDevice(t), func(c *Config) {
		c.MaxQueues, c.WindowHold, c.Now = 4, time.Minute, func() time.Time { return time.Unix(seconds.Load(), 0) }
	}), seconds
}

func TestMoreQueuesThanWindowsTakeTurns(t *testing.T) {
	e, seconds := fourWindows(t)
	for round := range uint32(3) {
		for i := range uint32(20) {
			seconds.Add(1)
			name := fmt.Sprint("q", i)
			submit(t, e, name, Batch{ID: "b", WantResults: true, Slots: []ring.Slot{slot(kernel.OpAdd, 0, 1, 3), slot(kernel.OpFence, 0), slot(kernel.OpLoad, 0, 3)}})
			finished, _ := drainQueue(t, e, Order{Queue: name, Geometry: testGeometry})
			if len(finished) != 1 || finished[0].Results[2] != 1 {
				t.Fatalf("round %d, queue %s: %+v; its window was another's before", round, name, finished)
			}
		}
	}
	if n := len(e.Stats().Queues); n != 4 {
		t.Errorf("%d queues have windows", n)
	}
}

// Queues that have all windows and read a word again and again do not keep them from others.
func TestReadingDoesNotKeepAWindow(t *testing.T) {
	e, seconds := fourWindows(t)
	word := []uint32{7}
	var epochs []uint64
	for i := range 4 {
		epoch, err := e.Upload(fmt.Sprint("reader", i), 0, word)
		if err != nil {
			t.Fatal(err)
		}
		epochs = append(epochs, epoch)
	}
	if _, err := e.Upload("victim", 0, word); !errors.Is(err, ErrQueues) {
		t.Errorf("all windows were written to just now: %v", err)
	}
	for range 16 { // over a minute, as long as a window is held
		seconds.Add(4)
		for i := range 4 {
			if err := e.Read(fmt.Sprint("reader", i), 0, word); err != nil {
				t.Fatal(err)
			}
		}
	}
	epoch, err := e.Upload("victim", 3, []uint32{41})
	if err != nil {
		t.Fatalf("the upload of a queue that needs a window: %v", err)
	}
	submit(t, e, "victim", Batch{ID: "b", Epoch: epoch, WantResults: true, Slots: []ring.Slot{slot(kernel.OpAdd, 0, 1, 3), slot(kernel.OpFence, 0), slot(kernel.OpLoad, 0, 3)}})
	finished, _ := drainQueue(t, e, Order{Queue: "victim", Geometry: testGeometry})
	if len(finished) != 1 || finished[0].Err != nil || finished[0].Results[2] != 42 {
		t.Errorf("%+v", finished)
	}
	if err := e.Read("reader0", 0, word); !errors.Is(err, ErrQueue) {
		t.Errorf("a read of the window that is the victim's now: %v", err)
	}
	if again, err := e.Upload("reader0", 0, word); err != nil || again == epochs[0] {
		t.Errorf("the owner has its window again at epoch %d, %v; work that names epoch %d would meet another", again, err, epochs[0])
	}
}
