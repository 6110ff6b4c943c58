//go:build cgo

package megakernel

import (
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
