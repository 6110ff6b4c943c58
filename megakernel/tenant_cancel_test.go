//go:build cgo

package megakernel

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"ringmaster/ring"
)

func TestCancelDropsWhatIsInNoWave(t *testing.T) {
	dev := &faultyDevice{Device: openDevice(t), hold: make(chan struct{})}
	e := newEngine(t, dev, nil)
	var called atomic.Int32
	done := func(r *BatchResult) { called.Add(int32(r.Dropped)) }
	slots := nops(1000, 2)
	slots = append(slots, slot(OpFence, 2))
	slots = append(slots, nops(500, 3)...)
	submit(t, e, "q", Batch{ID: "victim", Slots: slots, Done: done})
	submit(t, e, "q", Batch{ID: "bystander", Slots: nops(700, 2)})
	ticket := start(t, e, Order{Queue: "q", Geometry: testGeometry, BatchDepth: 400})
	n, withdrawn := e.Cancel("q", "victim")
	if n != 1 {
		t.Errorf("%d batches canceled", n)
	}
	for _, other := range [][2]string{{"q", "victim"}, {"q", "nobody"}, {"nowhere", "victim"}} {
		if n, slots := e.Cancel(other[0], other[1]); n != 0 || slots != 0 {
			t.Errorf("%d batches canceled again, %d slots", n, slots)
		}
	}
	if early := e.Finished("q"); len(early) != 0 {
		t.Errorf("finished while slots of it are in a wave: %+v", early)
	}
	close(dev.hold)
	finished := wait(t, e, ticket).Finished
	for e.Pending("q") > 0 {
		finished = append(finished, launch(t, e, Order{Queue: "q", Geometry: testGeometry}).Finished...)
	}
	if len(finished) != 2 {
		t.Fatalf("finished %+v", finished)
	}
	for _, b := range finished {
		switch b.ID {
		case "victim":
			if !errors.Is(b.Err, ErrCanceled) || b.Executed+b.Dropped != uint32(len(slots)) || b.Executed < 400 || b.Executed > 1000 {
				t.Errorf("batch %+v", b)
			}
			if withdrawn < 500 || b.Dropped < uint32(withdrawn) {
				t.Errorf("%d slots dropped, Cancel said at least %d", b.Dropped, withdrawn)
			}
			if uint32(called.Load()) != b.Dropped {
				t.Errorf("Done told of %d dropped slots, the report of %d", called.Load(), b.Dropped)
			}
			if s := snapshot(t, e, "q"); s.Dropped != uint64(b.Dropped) {
				t.Errorf("statistics %+v", s)
			}
		case "bystander":
			if b.Executed != 700 || b.Err != nil {
				t.Errorf("batch %+v", b)
			}
		}
	}
	if e.pool.Free() != e.pool.Pages() || e.first != 0 {
		t.Errorf("%d pages free of %d", e.pool.Free(), e.pool.Pages())
	}
}

func TestABatchCanceledWhileAllOfItRunsHasNoError(t *testing.T) {
	dev := &faultyDevice{Device: openDevice(t), hold: make(chan struct{})}
	e := newEngine(t, dev, nil)
	submit(t, e, "q", Batch{ID: "b", Slots: nops(100, 2)})
	ticket := start(t, e, Order{Queue: "q", Geometry: testGeometry})
	if n, slots := e.Cancel("q", "b"); n != 1 || slots != 0 {
		t.Errorf("%d batches, %d slots", n, slots)
	}
	close(dev.hold)
	if got := wait(t, e, ticket).Finished; len(got) != 1 || got[0].Executed != 100 || got[0].Err != nil {
		t.Errorf("finished %+v", got)
	}
}

func TestABatchThatEndsOutsideALaunchIsHandedOutOnce(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	submit(t, e, "q", Batch{ID: "victim", Slots: nops(300, 2)})
	if n, slots := e.Cancel("q", "victim"); n != 1 || slots != 300 {
		t.Errorf("%d batches, %d slots", n, slots)
	}
	got := e.Finished("q")
	if len(got) != 1 || got[0].ID != "victim" || got[0].Dropped != 300 || !errors.Is(got[0].Err, ErrCanceled) {
		t.Errorf("finished %+v", got)
	}
	if more := append(e.Finished("q"), e.Finished("nowhere")...); len(more) != 0 {
		t.Errorf("again %+v", more)
	}
	if r := launch(t, e, Order{Queue: "q", Geometry: testGeometry}); len(r.Finished) != 0 || r.Pending != 0 {
		t.Errorf("report %+v", r)
	}
}

func TestWorkThatNamesTheEpochOfAReleasedWindowIsDroppedWhileItsWaveRuns(t *testing.T) {
	dev := &faultyDevice{Device: openDevice(t), hold: make(chan struct{})}
	e := newEngine(t, dev, nil)
	epoch, err := e.Upload("q", 0, []uint32{7})
	if err != nil {
		t.Fatal(err)
	}
	submit(t, e, "q", Batch{ID: "before", Slots: nops(100, 2)})
	ticket := start(t, e, Order{Queue: "q", Geometry: testGeometry})
	if err := e.Release("q"); err != nil {
		t.Fatal(err)
	}
	submit(t, e, "q", Batch{ID: "after", Slots: []ring.Slot{slot(OpLoad, 2, 0)}, Epoch: epoch})
	close(dev.hold)
	wait(t, e, ticket)
	got := launch(t, e, Order{Queue: "q", Geometry: testGeometry}).Finished
	if len(got) != 1 || got[0].ID != "after" || !errors.Is(got[0].Err, ErrHeapLost) || got[0].Executed != 0 {
		t.Errorf("finished %+v", got)
	}
}

func TestDeadlineDropsWhatHasNotRun(t *testing.T) {
	now := time.Unix(1000, 0)
	e := newEngine(t, openDevice(t), func(c *Config) { c.Now = func() time.Time { return now } })
	for i, at := range []int{5, 3, 9} {
		submit(t, e, "q", Batch{Tag: uint64(i), Slots: nops(100, 2), Deadline: now.Add(time.Duration(at) * time.Second)})
	}
	told := make(chan uint32, 1)
	submit(t, e, "q", Batch{Tag: 1, Slots: nops(70, 2), Deadline: now.Add(time.Second), Done: func(r *BatchResult) { told <- r.Dropped }})
	submit(t, e, "q", Batch{Tag: 3, Slots: nops(100, 2)})
	now = now.Add(5 * time.Second)
	r := launch(t, e, Order{Queue: "q", Geometry: testGeometry})
	if r.Executed != 200 || len(r.Finished) != 5 {
		t.Fatalf("report %+v", r)
	}
	for _, b := range r.Finished {
		if late := b.Tag < 2; late != errors.Is(b.Err, ErrDeadline) || late != (b.Dropped > 0) {
			t.Errorf("batch %+v", b)
		}
	}
	if n := <-told; n != 70 {
		t.Errorf("Done was told of %d dropped slots", n)
	}
}

func TestCancelFindsEveryBatchOfAnIDAndNoOther(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.Pages, c.MaxQueues = 2*ring.Priorities, 2 })
	for _, q := range []string{"q", "p"} {
		// The first of them fills the pages that a queue gets; the others stand in line.
		for _, id := range []string{"first", "twice", "kept", "twice", "last"} {
			submit(t, e, q, Batch{ID: id, Slots: nops(ring.PageSlots, 2)})
		}
	}
	for _, c := range []struct {
		id      string
		batches int
	}{{"twice", 2}, {"first", 1}, {"twice", 0}, {"last", 1}} {
		if n, slots := e.Cancel("q", c.id); n != c.batches || slots != n*ring.PageSlots {
			t.Errorf("%s: %d batches, %d slots", c.id, n, slots)
		}
	}
	submit(t, e, "q", Batch{ID: "twice", Slots: nops(3, 2)})
	for queue, want := range map[string]uint32{"q": ring.PageSlots + 3, "p": 5 * ring.PageSlots} {
		ran := uint32(0)
		for e.Pending(queue) > 0 {
			ran += launch(t, e, Order{Queue: queue, Geometry: testGeometry}).Executed
		}
		if ran != want {
			t.Errorf("queue %s: %d slots ran, want %d", queue, ran, want)
		}
	}
	if len(e.queues["q"].named)+len(e.queues["p"].named) != 0 || e.pool.Free() != e.pool.Pages() {
		t.Errorf("left behind: %d pages of %d, names %v, %v", e.pool.Pages()-e.pool.Free(), e.pool.Pages(), e.queues["q"].named, e.queues["p"].named)
	}
}

func TestCancelLeavesAloneWhoHasThePagesNow(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	submit(t, e, "q", Batch{ID: "victim", Slots: nops(2*ring.PageSlots, 2)})
	if r := launch(t, e, Order{Queue: "q", Geometry: testGeometry, BatchDepth: ring.PageSlots}); r.Executed != ring.PageSlots {
		t.Fatalf("report %+v", r)
	}
	submit(t, e, "p", Batch{ID: "heir", Slots: nops(ring.PageSlots, 2)})
	if n, slots := e.Cancel("q", "victim"); n != 1 || slots != ring.PageSlots {
		t.Errorf("%d batches, %d slots", n, slots)
	}
	if r := launch(t, e, Order{Queue: "p", Geometry: testGeometry}); r.Executed != ring.PageSlots || r.Finished[0].Dropped != 0 {
		t.Errorf("report %+v", r)
	}
}
