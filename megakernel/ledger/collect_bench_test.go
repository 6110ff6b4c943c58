package ledger

import (
	"testing"
	"time"

	"ringmaster/ring"
)

// BenchmarkCollect is the host's part of a wave of 4,096 slots of one batch that ran, or of which
// the last slot of each page faulted.
func BenchmarkCollect(b *testing.B) {
	for _, last := range []ring.State{ring.Done, ring.Fault} {
		b.Run(last.String(), func(b *testing.B) {
			cfg := testConfig()
			cfg.Pages, cfg.MaxPending, cfg.MaxBatchSlots = 512, 1<<20, 1<<16
			l, err := New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			now := time.Unix(1000, 0)
			gather := make([]ring.Slot, 0, ring.PageSlots)
			w := new(Wave)
			for b.Loop() {
				b.StopTimer()
				entry, err := l.NewEntry(Batch{ID: "b", Runs: []Run{{Opcode: 1, Priority: ring.PriorityNormal, Count: 4096}}}, Profile{})
				if err != nil {
					b.Fatal(err)
				}
				extents, err := l.Submit(now, nil, "q", entry)
				if err != nil {
					b.Fatal(err)
				}
				for i := range extents {
					l.Slots(&extents[i], gather)
				}
				l.Publish(now, extents)
				if err := l.Begin(now, w, "q", 0); err != nil {
					b.Fatal(err)
				}
				if l.Plan(w); w.Slots != 4096 {
					b.Fatalf("%d slots in the wave", w.Slots)
				}
				var c ring.Control
				w.Each(func(at int, _ *ring.Slot, before ring.Status) {
					w.Statuses[at] = before.Attempted().With(ring.Done)
					c.Executed++
					if last == ring.Fault && at%ring.PageSlots == ring.PageSlots-1 {
						w.Statuses[at] = before.Attempted().WithFault(ring.FaultOutOfWindow)
						c.Executed--
						c.Faulted++
					}
				})
				b.StartTimer()
				if err := w.Collect(&c); err != nil {
					b.Fatal(err)
				}
				if err := l.Settle(now, w); err != nil {
					b.Fatal(err)
				}
				l.Finished("q")
			}
		})
	}
}
