//go:build cgo

package megakernel

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

// submitAndLaunch runs a batch by a mode until nothing is pending.
func submitAndLaunch(t *testing.T, e *Engine, queue string, mode LaunchMode, slots ...ring.Slot) (reports []Report, result BatchResult) {
	t.Helper()
	if err := e.Submit(queue, Batch{ID: "b", Slots: slots, WantResults: true}); err != nil {
		t.Fatal(err)
	}
	for {
		r, err := e.Launch(Order{Queue: queue, Geometry: policy.Geometry{Width: 64, Groups: 2, Chunk: 64}, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, r)
		for _, f := range r.Finished {
			result = f
		}
		if r.Pending == 0 {
			return reports, result
		}
	}
}

func TestSmallLaunchesRunOnTheResidentKernel(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.Lease = true })
	if _, err := e.LeaseSupport(); err != nil || e.LeaseSlots() != kernel.MailSlots {
		t.Fatal(err, e.LeaseSlots())
	}
	small := []ring.Slot{slot(kernel.OpStore, 0, 41, 7), slot(kernel.OpFence, 0), slot(kernel.OpAdd, 1, 1, 7), slot(kernel.OpFence, 0), slot(kernel.OpLoad, 2, 7), slot(kernel.OpFault, 3, 5), slot(kernel.OpYield, 0, 1)}
	long := make([]ring.Slot, 200)
	for i := range long {
		long[i] = slot(kernel.OpCopy, 0, 0, kernel.CopyCap, kernel.CopyCap)
	}
	big := make([]ring.Slot, kernel.MailSlots+1)
	for _, c := range []struct {
		name  string
		mode  LaunchMode
		slots []ring.Slot
		want  bool
		why   string
	}{
		{"wave, small", ModeWave, small, false, ""},
		{"lease, small", ModeLease, small, true, ""},
		{"auto, small", ModeAuto, small, true, ""},
		{"lease, long", ModeLease, long, true, ""},
		{"auto, long", ModeAuto, long, false, "the slots' loops are too long for the resident kernel"},
		{"lease, big", ModeLease, big, false, "a round of the resident kernel has room for fewer slots"},
	} {
		t.Run(c.name, func(t *testing.T) {
			slots := slices.Clone(c.slots)
			reports, result := submitAndLaunch(t, e, "q", c.mode, slots...)
			for _, r := range reports {
				if r.Leased != c.want || r.Leased != (r.Kernel.Kind == kernel.Lease) || r.Leased == (r.Applied.Width > 0) || r.ElapsedNs == 0 {
					t.Errorf("%+v", r)
				}
				if r.NotApplied != c.why || r.LeaseRefused != (c.name == "auto, long") {
					t.Errorf("refused %t, %q, want %q", r.LeaseRefused, r.NotApplied, c.why)
				}
			}
			if len(c.slots) != len(small) {
				return
			}
			if result.Executed != 6 || result.Faulted != 1 || result.Results[4] != 42 || result.Faults[0] != (SlotFault{Index: 5, Code: ring.FaultUser + 5}) {
				t.Errorf("%+v", result)
			}
			if len(reports) < 3 {
				t.Errorf("%d launches for three segments", len(reports))
			}
		})
	}
}

func TestWithoutALeaseLaunchesRunAsWaves(t *testing.T) {
	e := newEngine(t, openDevice(t), nil)
	if _, err := e.LeaseSupport(); err == nil || e.LeaseSlots() != 0 {
		t.Error("there is a lease that nobody asked for")
	}
	reports, result := submitAndLaunch(t, e, "q", ModeLease, slot(kernel.OpStore, 0, 1, 1))
	if reports[0].Leased || result.Executed != 1 {
		t.Errorf("%+v", reports)
	}
}

// TestLeaseAndWavesAndTransfersMix runs submissions of all sizes by both ways
// on several queues, with transfers between, and counts every slot.
func TestLeaseAndWavesAndTransfersMix(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.Lease = true })
	r := rand.New(rand.NewPCG(1, 2))
	queues := []string{"a", "b", "c"}
	want := map[string]uint32{}
	for _, q := range queues {
		if err := e.Write(q, 100, []uint32{0}); err != nil {
			t.Fatal(err)
		}
	}
	for range 300 {
		q := queues[r.IntN(len(queues))]
		slots := make([]ring.Slot, []int{1, 16, 100, kernel.MailSlots, 1000}[r.IntN(5)])
		for i := range slots {
			slots[i] = slot(kernel.OpAdd, r.Uint32N(ring.Priorities), 1, 100)
		}
		want[q] += uint32(len(slots))
		if err := e.Submit(q, Batch{ID: "b", Slots: slots}); err != nil {
			t.Fatal(err)
		}
		var tickets []Ticket
		for range 1 + r.IntN(3) {
			ticket, err := e.Start(Order{Queue: q, Geometry: policy.Geometry{Width: 64, Groups: 1, Chunk: 64, Depth: []uint32{0, 7, 300}[r.IntN(3)]}, Mode: LaunchMode(r.IntN(3))})
			if err != nil {
				t.Fatal(err)
			}
			tickets = append(tickets, ticket)
		}
		for _, ticket := range tickets {
			if _, err := e.Wait(t.Context(), ticket); err != nil {
				t.Fatal(err)
			}
		}
		if r.IntN(3) > 0 {
			continue
		}
		for e.Pending(q) > 0 {
			if _, err := e.Launch(Order{Queue: q, Geometry: policy.Geometry{Width: 64, Groups: 1, Chunk: 64}, Mode: ModeAuto}); err != nil {
				t.Fatal(err)
			}
		}
		got := []uint32{0}
		if err := e.Read(q, 100, got); err != nil {
			t.Fatal(err)
		}
		if got[0] != want[q] {
			t.Fatalf("queue %s: %d slots ran of %d", q, got[0], want[q])
		}
	}
	s := e.LeaseStats()
	t.Logf("%+v", s)
	if s.Rounds == 0 || s.Starts < 2 {
		t.Errorf("%+v", s)
	}
}

// TestLaunchesFromManyGoroutinesShareTheDevice has producers that launch small
// batches, which may run on the resident kernel from their own goroutines, beside
// waves of other queues and transfers, and closes the engine while they go on.
func TestLaunchesFromManyGoroutinesShareTheDevice(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.Lease = true })
	var producers sync.WaitGroup
	const closing = 1 << 30
	ran := make([]uint32, 3)
	producer := func(i int, rounds int) {
		q := string(rune('a' + i))
		r := rand.New(rand.NewPCG(uint64(i), 5))
		for range rounds {
			slots := make([]ring.Slot, []int{1, 16, 64, 600}[r.IntN(4)])
			for j := range slots {
				slots[j] = slot(kernel.OpAdd, 0, 1, 9)
			}
			err := e.Submit(q, Batch{ID: "b", Slots: slots})
			for err == nil && e.Pending(q) > 0 {
				_, err = e.Launch(Order{Queue: q, Geometry: policy.Geometry{Width: 64, Groups: 1, Chunk: 64}, Mode: ModeLease})
			}
			if errors.Is(err, ErrClosed) && rounds == closing {
				return
			}
			got := []uint32{0}
			if err == nil && r.IntN(4) == 0 {
				err = e.Read(q, 9, got)
				if ran[i] += uint32(len(slots)); err == nil && got[0] != ran[i] {
					t.Errorf("queue %s: %d slots ran of %d", q, got[0], ran[i])
				}
			} else {
				ran[i] += uint32(len(slots))
			}
			if err != nil && !(errors.Is(err, ErrClosed) && rounds == closing) {
				t.Error(err)
				return
			}
		}
	}
	for i := range ran {
		producers.Go(func() { producer(i, 150) })
	}
	producers.Wait()
	if s := e.LeaseStats(); s.Rounds == 0 || s.Starts < 2 {
		t.Errorf("%+v", s)
	}
	for i := range ran {
		producers.Go(func() { producer(i, closing) })
	}
	for before := e.LeaseStats().Rounds; e.LeaseStats().Rounds < before+20; {
		runtime.Gosched()
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	producers.Wait()
}
