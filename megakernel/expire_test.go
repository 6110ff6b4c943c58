//go:build cgo

package megakernel

import (
	"fmt"
	"testing"
	"time"

	"ringmaster/ring"
)

// submitMany submits batches of a slot each; those with a deadline are over it.
func submitMany(t testing.TB, e *Engine, queue, prefix string, n int, late bool) {
	t.Helper()
	for i := range n {
		b := Batch{ID: fmt.Sprint(prefix, i), Slots: []ring.Slot{slot(OpNop, uint32(i%ring.Priorities))}}
		if late {
			b.Deadline = time.Unix(1, 0)
		}
		if err := e.Submit(queue, b); err != nil {
			t.Fatal(err)
		}
	}
}

// A page for each priority of a queue has room for some of the slots; the rest are in line.
func TestBatchesOfOneDeadlineEndTogetherAndLeaveTheOthers(t *testing.T) {
	e := newEngine(t, openDevice(t), func(c *Config) { c.Pages, c.MaxQueues = 2*ring.Priorities, 2 })
	const n = 1500
	for i := range 3 {
		submitMany(t, e, "q", fmt.Sprint("late", i, "-"), n, true)
		submitMany(t, e, "q", fmt.Sprint("kept", i, "-"), 10, false)
		submitMany(t, e, "p", fmt.Sprint("late", i, "-"), n, true)
	}
	ended := make(map[string]int)
	report := func(r *Report) {
		for _, b := range r.Finished {
			ended[b.ID[:4]]++
			if late := b.ID[:4] == "late"; late != (b.Dropped == 1) || late != (b.Executed == 0) {
				t.Errorf("%+v", b)
			}
		}
	}
	for range 30 {
		r := launch(t, e, Order{Queue: "q", Geometry: testGeometry})
		report(&r)
		if r.Pending == 0 {
			break
		}
	}
	if ended["late"] != 3*n || ended["kept"] != 30 {
		t.Errorf("of queue q ended %v", ended)
	}
	if got := len(e.Finished("p")); got != 3*n {
		t.Errorf("%d batches of the other queue ended", got)
	}
	if e.pending != 0 {
		t.Errorf("%d slots are pending", e.pending)
	}
}

// Each batch costs as much as it does alone, however many end together.
func BenchmarkExpire(b *testing.B) {
	e := newEngine(b, openDevice(b), func(c *Config) { c.MaxPending = 1 << 24 })
	for b.Loop() {
		b.StopTimer()
		submitMany(b, e, "q", "late", 20_000, true)
		b.StartTimer()
		e.mu.Lock()
		e.expire()
		e.mu.Unlock()
		e.Finished("q")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/20_000, "ns/batch")
}

// Others that are pending do not make a cancel dearer.
func BenchmarkCancel(b *testing.B) {
	for _, others := range []int{1000, 100_000} {
		b.Run(fmt.Sprint("others=", others), func(b *testing.B) {
			e := newEngine(b, openDevice(b), func(c *Config) { c.MaxPending = 1 << 24 })
			submitMany(b, e, "q", "other", others, false)
			i := 0
			for b.Loop() {
				b.StopTimer()
				id := fmt.Sprint("victim", i)
				i++
				if err := e.Submit("q", Batch{ID: id, Slots: nops(100, 2)}); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if n, _ := e.Cancel("q", id); n != 1 {
					b.Fatal("not canceled")
				}
				e.Finished("q")
			}
		})
	}
}
