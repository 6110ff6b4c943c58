//go:build cgo

package megakernel

import (
	"context"
	"errors"
	"slices"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

// otherDevice is a real device that claims to be of another kind, so that the
// ways of memory that this one would not choose are tested on it.
type otherDevice struct {
	gpu.Device
	hardware bool // names no software renderer
	unmapped bool // cannot map
}

func (d *otherDevice) Software() bool { return d.Device.Software() && !d.hardware }

func (d *otherDevice) Supports(name string) bool {
	return d.Device.Supports(name) && !(d.unmapped && name == "buffer-storage")
}

// waysOfMemory are devices that make the engine take each way there is.
func waysOfMemory(dev gpu.Device) map[string]gpu.Device {
	return map[string]gpu.Device{
		"as it is":           dev,
		"mapped and copied":  &otherDevice{Device: dev, hardware: true},
		"with updates alone": &otherDevice{Device: dev, unmapped: true},
	}
}

// start begins a launch.
func start(t *testing.T, e *Engine, o Order) Ticket {
	t.Helper()
	ticket, err := e.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// wait waits for a launch.
func wait(t *testing.T, e *Engine, ticket Ticket) Report {
	t.Helper()
	r, err := e.Wait(context.Background(), ticket)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSlotsArriveWhateverMemoryTheDeviceHas(t *testing.T) {
	for name, dev := range waysOfMemory(openDevice(t)) {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, dev, nil)
			const n = 3000
			b := Batch{ID: "b", WantResults: true}
			for i := range uint32(n) {
				b.Slots = append(b.Slots, slot(kernel.OpStore, i%5, i*7, i))
			}
			b.Slots = append(b.Slots, slot(kernel.OpFence, 1))
			for i := range uint32(n) {
				b.Slots = append(b.Slots, slot(kernel.OpLoad, (i+1)%5, i))
			}
			b.Slots = append(b.Slots, slot(kernel.OpFault, 0, 3))
			submit(t, e, "q", b)
			var finished []BatchResult
			for depth := uint32(500); e.Pending("q") > 0; depth += 100 {
				finished = append(finished, launch(t, e, Order{Queue: "q", Geometry: testGeometryAt(depth)}).Finished...)
			}
			if len(finished) != 1 || finished[0].Executed != 2*n+1 || finished[0].Faulted != 1 {
				t.Fatalf("finished %+v", finished)
			}
			for i, got := range finished[0].Results[n+1 : 2*n+1] {
				if got != uint32(i)*7 {
					t.Fatalf("load %d is %d", i, got)
				}
			}
			if f := finished[0].Faults; len(f) != 1 || f[0] != (SlotFault{Index: 2*n + 1, Code: ring.FaultUser + 3}) {
				t.Errorf("faults %v", f)
			}
		})
	}
}

func TestWavesInFlightHoldDisjointPages(t *testing.T) {
	for name, dev := range waysOfMemory(openDevice(t)) {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, dev, func(c *Config) { c.InFlight = 4 })
			const n = 4 * 1024
			b := Batch{ID: "b"}
			for i := range uint32(n) {
				b.Slots = append(b.Slots, slot(kernel.OpAdd, 2, 1, i))
			}
			submit(t, e, "q", b)
			var tickets []Ticket
			for i := range uint64(4) {
				tickets = append(tickets, start(t, e, Order{Launch: i, Queue: "q", Geometry: testGeometryAt(1024)}))
			}
			if _, err := e.Start(Order{Queue: "q", Geometry: testGeometry}); !errors.Is(err, ErrInFlight) {
				t.Errorf("fifth wave: %v", err)
			}
			if s := e.Stats(); s.InFlight != 4 {
				t.Errorf("%d in flight", s.InFlight)
			}
			finished := 0
			for i, ticket := range tickets {
				r := wait(t, e, ticket)
				if r.Launch != uint64(i) || r.Executed != 1024 {
					t.Errorf("wave %d: %+v", i, r)
				}
				finished += len(r.Finished)
			}
			words := make([]uint32, n)
			if err := e.Read("q", 0, words); err != nil || slices.Min(words) != 1 || slices.Max(words) != 1 {
				t.Errorf("words from %d to %d, error %v", slices.Min(words), slices.Max(words), err)
			}
			if finished != 1 {
				t.Errorf("%d batches finished", finished)
			}
		})
	}
}

func TestOrderBoundsWhatIsInFlight(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	submit(t, e, "q", Batch{ID: "b", Slots: slices.Repeat([]ring.Slot{slot(kernel.OpNop, 1)}, 600)})
	order := Order{Queue: "q", Geometry: testGeometryAt(256), InFlight: 1}
	ticket := start(t, e, order)
	if _, err := e.Start(order); !errors.Is(err, ErrInFlight) {
		t.Errorf("second wave: %v", err)
	}
	wait(t, e, ticket)
	wait(t, e, start(t, e, order))
}

func TestTicketIsGoodOnce(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	submit(t, e, "q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpNop, 1)}})
	ticket := start(t, e, Order{Queue: "q", Geometry: testGeometry})
	wait(t, e, ticket)
	for _, bad := range []Ticket{ticket, {}, {index: 99, generation: 1}} {
		if _, err := e.Wait(context.Background(), bad); !errors.Is(err, ErrTicket) {
			t.Errorf("wait: %v", err)
		}
	}
}

func TestWaitReturnsWhenItsContextEndsAndTheTicketStaysGood(t *testing.T) {
	dev := &faultyDevice{Device: openDevice(t), hold: make(chan struct{})}
	e := newEngine(t, dev, nil)
	submit(t, e, "q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpNop, 1)}})
	ticket := start(t, e, Order{Queue: "q", Geometry: testGeometry})
	if e.Settled(ticket) {
		t.Error("settled before its fence")
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errInjected)
	if _, err := e.Wait(ctx, ticket); !errors.Is(err, errInjected) {
		t.Errorf("wait: %v", err)
	}
	close(dev.hold)
	if r := wait(t, e, ticket); r.Executed != 1 {
		t.Errorf("report %+v", r)
	}
}

func TestFailedWaveLeavesThoseBesideItAlone(t *testing.T) {
	dev := &faultyDevice{Device: openDevice(t), failAt: func(n int) bool { return n == 2 }}
	e := newEngine(t, dev, nil)
	const n = 3 * 512
	b := Batch{ID: "b"}
	for i := range uint32(n) {
		b.Slots = append(b.Slots, slot(kernel.OpAdd, 2, 1, i))
	}
	// The first dispatch warms the program up.
	submit(t, e, "q", Batch{ID: "first", Slots: []ring.Slot{slot(kernel.OpNop, 0)}})
	dev.dispatches = -2
	launch(t, e, Order{Queue: "q", Geometry: testGeometry})
	submit(t, e, "q", b)
	var tickets []Ticket
	for range 3 {
		tickets = append(tickets, start(t, e, Order{Queue: "q", Geometry: testGeometryAt(512)}))
	}
	for i, ticket := range tickets {
		r, err := e.Wait(context.Background(), ticket)
		if failed := i == 1; failed != errors.Is(err, errInjected) || failed != (r.Executed == 0) {
			t.Errorf("wave %d: error %v, executed %d", i, err, r.Executed)
		}
	}
	if e.Pending("q") != 512 {
		t.Errorf("%d slots pending", e.Pending("q"))
	}
	r := launch(t, e, Order{Queue: "q", Geometry: testGeometry})
	words := make([]uint32, n)
	if err := e.Read("q", 0, words); err != nil || len(r.Finished) != 1 || slices.Min(words) != 1 || slices.Max(words) != 1 {
		t.Errorf("report %+v, words from %d to %d, error %v", r, slices.Min(words), slices.Max(words), err)
	}
}

func TestCloseWaitsForWavesAndTheirReportsStay(t *testing.T) {
	dev := openDevice(t)
	e, err := New(dev, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	submit(t, e, "q", Batch{ID: "b", Slots: slices.Repeat([]ring.Slot{slot(kernel.OpNop, 1)}, 5000)})
	ticket := start(t, e, Order{Queue: "q", Geometry: testGeometry})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if r := wait(t, e, ticket); r.Executed != 5000 {
		t.Errorf("report %+v", r)
	}
	if _, err := e.Start(Order{Queue: "q", Geometry: testGeometry}); !errors.Is(err, ErrClosed) {
		t.Errorf("start: %v", err)
	}
	if err := e.Submit("q", Batch{ID: "b", Slots: []ring.Slot{slot(kernel.OpNop, 1)}}); !errors.Is(err, ErrClosed) {
		t.Errorf("submit: %v", err)
	}
	if err := e.Write("q", 0, []uint32{1}); !errors.Is(err, ErrClosed) {
		t.Errorf("write: %v", err)
	}
}
