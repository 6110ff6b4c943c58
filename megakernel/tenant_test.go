//go:build cgo

package megakernel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"ringmaster/ring"
)

func nops(n int, priority uint32) []ring.Slot {
	return slices.Repeat([]ring.Slot{slot(OpNop, priority)}, n)
}

// snapshot is the statistics of one queue.
func snapshot(t *testing.T, e *Engine, name string) QueueSnapshot {
	t.Helper()
	for _, q := range e.Stats().Queues {
		if q.Name == name {
			return q
		}
	}
	t.Fatalf("no statistics of queue %q", name)
	return QueueSnapshot{}
}

func TestSubmitterWaitsForRoomOrIsRefused(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.MaxPending, c.MaxBatchSlots = 300, 200 })
	submit(t, e, "q", Batch{ID: "first", Slots: nops(200, 2)})
	if err := e.Submit("q", Batch{ID: "refused", Slots: nops(200, 2)}); !errors.Is(err, ErrBacklog) {
		t.Errorf("submit: %v", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errInjected)
	if err := e.SubmitContext(ctx, "q", Batch{ID: "gave up", Slots: nops(200, 2)}); !errors.Is(err, errInjected) {
		t.Errorf("submit with an ended context: %v", err)
	}
	taken := make(chan error, 1)
	go func() {
		taken <- e.SubmitContext(context.Background(), "q", Batch{ID: "waited", Slots: nops(200, 2)})
	}()
	for snapshot(t, e, "q").Waits < 2 {
		runtime.Gosched() // until it waits
	}
	launch(t, e, Order{Queue: "q", Geometry: testGeometry})
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	r := launch(t, e, Order{Queue: "q", Geometry: testGeometry})
	if len(r.Finished) != 1 || r.Finished[0].ID != "waited" {
		t.Errorf("finished %+v", r.Finished)
	}
	if s := snapshot(t, e, "q"); s.Refused != 1 || s.Waits != 2 || s.Submitted != 400 || s.Executed != 400 || s.Waves != 2 {
		t.Errorf("statistics %+v", s)
	}
}

func TestSubmitterThatWaitsIsToldOfClose(t *testing.T) {
	e, err := New(openDevice(t), DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Configure("q", QueueOptions{MaxPending: 10}); err != nil {
		t.Fatal(err)
	}
	submit(t, e, "q", Batch{Slots: nops(10, 2)})
	told := make(chan error, 1)
	go func() { told <- e.SubmitContext(context.Background(), "q", Batch{Slots: nops(10, 2)}) }()
	for snapshot(t, e, "q").Waits < 1 {
		runtime.Gosched() // until it waits
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-told; !errors.Is(err, ErrClosed) {
		t.Errorf("error %v", err)
	}
}

func TestQueueOverItsQuotaWaitsAloneAndIsCounted(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	if err := e.Configure("small", QueueOptions{MaxPending: 100}); err != nil {
		t.Fatal(err)
	}
	submit(t, e, "small", Batch{ID: "b", Slots: nops(80, 2)})
	if err := e.Submit("small", Batch{ID: "b", Slots: nops(30, 2)}); !errors.Is(err, ErrQuota) {
		t.Errorf("over the quota: %v", err)
	}
	if err := e.Submit("small", Batch{ID: "b", Slots: nops(101, 2)}); !errors.Is(err, ErrBatch) {
		t.Errorf("never within the quota: %v", err)
	}
	submit(t, e, "other", Batch{ID: "b", Slots: nops(1000, 2)})
	launch(t, e, Order{Queue: "small", Geometry: testGeometry})
	submit(t, e, "small", Batch{ID: "b", Slots: nops(100, 2)})
	if s := snapshot(t, e, "small"); s.Refused != 2 || s.Pending != 100 {
		t.Errorf("statistics %+v", s)
	}
}

func TestQueuesThatNobodyConfiguredHaveTheDefaultQuota(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.Queue = QueueOptions{MaxPending: 50} })
	if err := e.Configure("large", QueueOptions{}); err != nil {
		t.Fatal(err)
	}
	submit(t, e, "large", Batch{Slots: nops(60, 2)})
	submit(t, e, "q", Batch{Slots: nops(30, 2)})
	if err := e.Submit("q", Batch{Slots: nops(30, 2)}); !errors.Is(err, ErrQuota) {
		t.Errorf("error %v", err)
	}
	if err := e.Configure("q", QueueOptions{Rate: -1}); err == nil {
		t.Error("a negative rate was taken")
	}
}

func TestRateBoundsWhatAQueueRuns(t *testing.T) {
	now := time.Unix(1000, 0)
	e := newEngine(t, openDevice(t), func(c *Config) { c.Now = func() time.Time { return now } })
	if err := e.Configure("q", QueueOptions{Rate: 1000, Burst: 300}); err != nil {
		t.Fatal(err)
	}
	submit(t, e, "q", Batch{ID: "b", Slots: nops(1000, 2)})
	order := Order{Queue: "q", Geometry: testGeometry}
	for i, step := range []struct {
		after time.Duration
		want  uint32
	}{{0, 300}, {0, 0}, {100 * time.Millisecond, 100}, {time.Hour, 300}, {0, 0}, {time.Second, 300}} {
		now = now.Add(step.after)
		r := launch(t, e, order)
		if r.Executed != step.want || (step.want == 0) != (r.NotApplied == "the queue's rate is used up") {
			t.Errorf("step %d: executed %d, want %d: %q", i, r.Executed, step.want, r.NotApplied)
		}
	}
	if s := snapshot(t, e, "q"); s.QuotaWaits != 2 {
		t.Errorf("%d launches waited", s.QuotaWaits)
	}
}

func TestMaskRefusesOpcodesOfOneQueue(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	if err := e.Configure("q", QueueOptions{Opcodes: NewOpcodeSet(OpNop, OpLoad)}); err != nil {
		t.Fatal(err)
	}
	b := Batch{ID: "b", Slots: []ring.Slot{slot(OpNop, 0), slot(OpStore, 0, 1, 1)}}
	if err := e.Submit("q", b); !errors.Is(err, ErrForbidden) {
		t.Errorf("masked opcode: %v", err)
	}
	submit(t, e, "other", b)
	submit(t, e, "q", Batch{ID: "b", Slots: []ring.Slot{slot(OpNop, 0), slot(OpLoad, 0, 1)}})
}

func TestSlotThatHoldsTooMuchIsRefusedAtSubmit(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	full := slot(OpPacked, 0, ^uint32(0), ^uint32(0))
	if err := e.Submit("q", Batch{ID: "b", Slots: []ring.Slot{slot(OpNop, 0), full}}); !errors.Is(err, ErrBatch) || !errors.Is(err, ErrSlot) {
		t.Errorf("error %v", err)
	}
	if e.Pending("q") != 0 {
		t.Errorf("%d slots pending", e.Pending("q"))
	}
}

func TestWindowIsGivenOutAgainClearedAndUnderAnotherTenant(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.MaxQueues, c.WindowWords = 2, 64 })
	submit(t, e, "stays", Batch{ID: "b", Slots: []ring.Slot{slot(OpStore, 0, 7, 0)}})
	var tenants []uint32
	for i := range 5 {
		name := fmt.Sprint("tenant ", i)
		slots := []ring.Slot{slot(OpLoad, 0, 3), slot(OpFence, 0), slot(OpStore, 0, 99, 3)}
		submit(t, e, name, Batch{ID: "b", Slots: slots, WantResults: true})
		tenants = append(tenants, snapshot(t, e, name).Tenant)
		if err := e.Submit("third", Batch{Slots: nops(1, 0)}); !errors.Is(err, ErrQueues) {
			t.Errorf("third queue: %v", err)
		}
		finished, _ := drainQueue(t, e, Order{Queue: name, Geometry: testGeometry})
		if len(finished) != 1 || finished[0].Results[0] != 0 {
			t.Errorf("the window of tenant %d began as %+v", i, finished)
		}
		// Work that is left is dropped with its queue.
		var dropped atomic.Uint32
		submit(t, e, name, Batch{ID: "left", Slots: nops(10, 0), Done: func(r *BatchResult) { dropped.Store(r.Dropped) }})
		if err := e.Release(name); err != nil || dropped.Load() != 10 {
			t.Errorf("release: %v, %d dropped", err, dropped.Load())
		}
		if err := e.Release(name); !errors.Is(err, ErrQueue) {
			t.Errorf("release again: %v", err)
		}
	}
	slices.Sort(tenants)
	if len(slices.Compact(tenants)) != 5 {
		t.Errorf("tenants %v", tenants)
	}
	if e.Pending("stays") != 1 || e.pool.Free() != e.pool.Pages()-1 {
		t.Errorf("%d pending, %d pages free of %d", e.Pending("stays"), e.pool.Free(), e.pool.Pages())
	}
}

func TestReleaseWaitsForWavesBeforeTheWindowIsGivenOut(t *testing.T) {
	dev := &faultyDevice{Device: openDevice(t), hold: make(chan struct{})}
	e := newEngine(t, dev, func(c *Config) { c.MaxQueues = 1 })
	submit(t, e, "old", Batch{ID: "b", Slots: []ring.Slot{slot(OpStore, 0, 1, 5)}})
	ticket := start(t, e, Order{Queue: "old", Geometry: testGeometry})
	if err := e.Release("old"); err != nil {
		t.Fatal(err)
	}
	if err := e.Submit("new", Batch{Slots: nops(1, 0)}); !errors.Is(err, ErrQueues) {
		t.Errorf("the window was given out under a wave: %v", err)
	}
	close(dev.hold)
	if r := wait(t, e, ticket); r.Executed != 1 || len(r.Finished) != 1 {
		t.Errorf("report %+v", r)
	}
	word := []uint32{77}
	if err := e.Write("new", 0, nil); err != nil {
		t.Fatal(err)
	}
	if err := e.Read("new", 5, word); err != nil || word[0] != 0 {
		t.Errorf("word %d, error %v", word[0], err)
	}
}

// TestHostileSlotsStayInTheirWindow runs 100,000 slots of random words, between
// two windows of guard words. Every slot ends, and nothing outside changes.
func TestHostileSlotsStayInTheirWindow(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.MaxQueues, c.WindowWords = 3, 512 })
	guard := make([]uint32, 512)
	for i := range guard {
		guard[i] = 0xC0DE0000 + uint32(i)
	}
	for _, q := range []string{"below", "q", "above"} {
		if err := e.Write(q, 0, guard); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(7, 8))
	edges := []uint32{0, 1, 511, 512, 513, 1 << 16, 1<<31 - 1, 1 << 31, ^uint32(0) - 511, ^uint32(0)}
	const n, each = 100_000, 10_000
	refused, accepted := 0, 0
	for range n / each {
		b := Batch{ID: "b"}
		for range each {
			s := ring.Slot{Opcode: r.Uint32N(20), Tenant: r.Uint32(), Priority: r.Uint32N(ring.Priorities), Sequence: r.Uint32()}
			if r.IntN(10) == 0 {
				s.Opcode = r.Uint32()
			}
			for i := range s.Args {
				if s.Args[i] = r.Uint32(); r.IntN(2) == 0 {
					s.Args[i] = edges[r.IntN(len(edges))]
				}
			}
			if BuiltIn().Has(Opcode(s.Opcode)) && Opcode(s.Opcode) == OpPacked && BuiltIn().CheckSlot(&s) != nil {
				if err := e.Submit("q", Batch{Slots: []ring.Slot{s}}); err == nil {
					t.Fatalf("slot %v was taken", s)
				}
				refused++
				continue
			}
			b.Slots = append(b.Slots, s)
		}
		accepted += len(b.Slots)
		submit(t, e, "q", b)
	}
	var ended uint32
	for launches := 0; e.Pending("q") > 0; launches++ {
		if launches > 100_000 {
			t.Fatalf("%d slots never end", e.Pending("q"))
		}
		report := launch(t, e, Order{Queue: "q", Geometry: Geometry{256, 8, 1024}})
		ended += report.Executed + report.Faulted
	}
	if int(ended) != accepted || refused == 0 {
		t.Errorf("%d slots ended of %d, %d refused", ended, accepted, refused)
	}
	for _, q := range []string{"below", "above"} {
		got := make([]uint32, 512)
		if err := e.Read(q, 0, got); err != nil || !slices.Equal(got, guard) {
			t.Errorf("window %q changed, error %v", q, err)
		}
	}
}

func TestAMaskLooksIntoPackedSlots(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	if err := e.Configure("q", QueueOptions{Opcodes: NewOpcodeSet(OpPacked, OpNop, OpLoad)}); err != nil {
		t.Fatal(err)
	}
	packed := func(parts ...Part) []ring.Slot {
		args, err := Pack(parts...)
		if err != nil {
			t.Fatal(err)
		}
		return []ring.Slot{{Opcode: uint32(OpPacked), Args: args}}
	}
	if err := e.Submit("q", Batch{ID: "b", Slots: packed(Part{OpNop, nil}, Part{OpStore, []uint32{1, 2}})}); !errors.Is(err, ErrForbidden) {
		t.Errorf("a packed store: %v", err)
	}
	submit(t, e, "q", Batch{ID: "b", Slots: packed(Part{OpNop, nil}, Part{OpLoad, []uint32{2}})})
}

func TestANarrowerMaskWithdrawsWhatIsPending(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	submit(t, e, "q", Batch{ID: "stores", Slots: []ring.Slot{slot(OpStore, 0, 5, 7), slot(OpStore, 0, 5, 8)}})
	submit(t, e, "q", Batch{ID: "loads", Slots: []ring.Slot{slot(OpLoad, 0, 7)}, WantResults: true})
	if err := e.Configure("q", QueueOptions{Opcodes: NewOpcodeSet(OpLoad)}); err != nil {
		t.Fatal(err)
	}
	finished, _ := drainQueue(t, e, Order{Queue: "q", Geometry: testGeometry})
	for _, b := range finished {
		switch {
		case b.ID == "stores" && b.Dropped == 2 && errors.Is(b.Err, ErrForbidden):
		case b.ID == "loads" && b.Executed == 1 && b.Results[0] == 0:
		default:
			t.Errorf("%+v", b)
		}
	}
	if len(finished) != 2 {
		t.Errorf("%+v", finished)
	}
}
