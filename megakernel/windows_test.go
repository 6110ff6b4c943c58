//go:build cgo

package megakernel

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ringmaster/ring"
)

// fourWindows is an engine with four windows and a clock of the test's.
func fourWindows(t *testing.T, now *time.Time) *Engine {
	*now = time.Unix(1_000_000, 0)
	return newEngine(t, openDevice(t), func(c *Config) {
		c.MaxQueues, c.WindowHold, c.Now = 4, time.Minute, func() time.Time { return *now }
	})
}

func upload(t *testing.T, e *Engine, queue string, word uint32) (epoch uint64) {
	t.Helper()
	epoch, err := e.Upload(queue, 3, []uint32{word})
	if err != nil {
		t.Fatal(err)
	}
	return epoch
}

func TestMoreQueuesThanWindowsTakeTurns(t *testing.T) {
	var now time.Time
	e := fourWindows(t, &now)
	for round := range uint32(3) {
		for i := range uint32(20) {
			now = now.Add(time.Second)
			name := fmt.Sprint("q", i)
			submit(t, e, name, Batch{ID: "b", WantResults: true, Slots: []ring.Slot{slot(OpAdd, 0, 1, 3), slot(OpFence, 0), slot(OpLoad, 0, 3)}})
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

func TestTheLeastRecentlyUsedWindowIsTaken(t *testing.T) {
	var now time.Time
	e := fourWindows(t, &now)
	epochs := map[string]uint64{}
	for i := range uint32(4) {
		epochs[fmt.Sprint("q", i)] = upload(t, e, fmt.Sprint("q", i), i+1)
		now = now.Add(time.Hour)
	}
	if err := e.Read("q0", 3, make([]uint32, 1)); err != nil { // now q1 is the one
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	epochs["new"] = upload(t, e, "new", 9)
	for name, want := range map[string]error{"q0": nil, "q1": ErrQueue, "q2": nil, "q3": nil, "new": nil} {
		if err := e.Read(name, 3, make([]uint32, 1)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if epochs["new"] <= epochs["q1"] {
		t.Errorf("epoch %d follows %d", epochs["new"], epochs["q1"])
	}

	// What was uploaded to the others is as good as before, what was in q1 is not.
	now = now.Add(time.Hour)
	for _, name := range []string{"q0", "q2", "q3", "q1"} {
		var want error
		if name == "q1" {
			want = ErrHeapLost
		}
		submit(t, e, name, Batch{ID: "b", Epoch: epochs[name], Slots: []ring.Slot{slot(OpLoad, 0, 3)}})
		finished, _ := drainQueue(t, e, Order{Queue: name, Geometry: testGeometry})
		if len(finished) != 1 || !errors.Is(finished[0].Err, want) {
			t.Errorf("%s: %+v, want error %v", name, finished, want)
		}
		now = now.Add(time.Hour)
	}
}

func TestAWindowInUseIsNotTaken(t *testing.T) {
	var now time.Time
	e := fourWindows(t, &now)
	submit(t, e, "pending", Batch{ID: "b", Slots: []ring.Slot{slot(OpAdd, 0, 1, 3)}})
	if _, err := e.Alloc("allocated", 8); err != nil {
		t.Fatal(err)
	}
	upload(t, e, "old", 1)
	now = now.Add(time.Hour)
	upload(t, e, "fresh", 1)
	upload(t, e, "new", 1) // in the place of old
	refused := e.Submit("another", Batch{ID: "b", Slots: []ring.Slot{slot(OpNop, 0)}})
	if !errors.Is(refused, ErrQueues) {
		t.Fatalf("with every window in use: %v", refused)
	}
	if err := e.Write("another", 0, []uint32{1}); !errors.Is(err, ErrQueues) {
		t.Errorf("an upload with every window in use: %v", err)
	}
	now = now.Add(time.Minute)
	submit(t, e, "another", Batch{ID: "b", Slots: []ring.Slot{slot(OpNop, 0)}})
	for name, want := range map[string]error{"pending": nil, "allocated": nil} {
		if err := e.Read(name, 3, make([]uint32, 1)); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOptionsOutliveTheWindow(t *testing.T) {
	var now time.Time
	e := fourWindows(t, &now)
	for i := range 100 { // takes no window
		if err := e.Configure(fmt.Sprint("q", i), QueueOptions{Opcodes: NewOpcodeSet(OpLoad)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		now = now.Add(time.Hour)
		name := fmt.Sprint("q", i%10)
		if err := e.Submit(name, Batch{ID: "b", Slots: []ring.Slot{slot(OpNop, 0)}}); !errors.Is(err, ErrForbidden) {
			t.Fatalf("%s: %v", name, err)
		}
	}
}
