package ring

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func newPool(t interface{ Fatal(...any) }, pages int) *Pool {
	p, err := NewPool(pages)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ageing is the threshold of tests that are not about it.
const ageing = 1 << 30

// add fills a new page of the queue with n slots of a priority.
func add(t interface{ Fatal(...any) }, pool *Pool, q *Queue, priority uint32, n int) uint32 {
	number, ok := pool.Alloc(priority)
	if !ok {
		t.Fatal("pool is empty")
	}
	q.Push(pool, number)
	index, taken := pool.Reserve(number, n)
	if taken != n {
		t.Fatal("page takes only", taken)
	}
	pool.Publish(index, n)
	return number
}

// settle returns the pages of a wave to the queue, or frees them.
func settle(t interface{ Fatal(...any) }, pool *Pool, q *Queue, entries []Entry) (released int) {
	for i := len(entries) - 1; i >= 0; i-- {
		number := entries[i].Page()
		if pool.Live(number) > 0 {
			q.Return(pool, number, false)
		} else if err := pool.Release(number); err != nil {
			t.Fatal(err)
		} else {
			released++
		}
	}
	return released
}

// finish marks every scheduled slot done, as a wave without faults does.
func finish(pool *Pool, entries []Entry) (slots []int) {
	for _, e := range entries {
		for i := range e.Count() {
			index := int(e.Page())*PageSlots + i
			if pool.Status(index).State() != Published {
				continue
			}
			pool.Collect(index, pool.Status(index).Attempted().With(Done))
			slots = append(slots, index)
		}
	}
	return slots
}

func TestScheduleSharesByQuantum(t *testing.T) {
	pool := newPool(t, 2000)
	var q Queue
	for p := range uint32(Priorities) {
		for range 400 {
			add(t, pool, &q, p, PageSlots)
		}
	}
	var pages [Priorities]int
	for range 40 {
		entries, slots := q.Plan(nil, pool, 10*PageSlots, ageing)
		if slots != 10*PageSlots {
			t.Fatalf("%d slots", slots)
		}
		finish(pool, entries)
		for _, e := range entries {
			pages[pool.Priority(e.Page())]++
		}
		settle(t, pool, &q, entries)
	}
	// 400 pages are 12 rounds of 31 and a bit; critical work is up to a quantum ahead.
	for p, quantum := range Quanta {
		share := float64(pages[p]) / 400
		if want := float64(quantum) / float64(31*PageSlots); share < want-0.05 || share > want+0.05 {
			t.Errorf("priority %d got %.3f of the pages, want %.3f: %v", p, share, want, pages)
		}
	}
}

func TestBurstOfCriticalWorkIsInTheNextWave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := newPool(t, 400)
		var q Queue
		for p := uint32(PriorityHigh); p < Priorities; p++ {
			for range rapid.IntRange(0, 60).Draw(t, "backlog") {
				add(t, pool, &q, p, PageSlots)
			}
		}
		depth := rapid.IntRange(1024, 8192).Draw(t, "depth")
		for range rapid.IntRange(0, 100).Draw(t, "waves before") {
			entries, _ := q.Plan(nil, pool, depth/16, 3)
			settle(t, pool, &q, entries) // not reached: they all come back
		}
		critical := 0
		burst := min(depth*3/4-PageSlots, Quanta[PriorityCritical])
		for critical < burst {
			n := min(burst-critical, PageSlots)
			add(t, pool, &q, PriorityCritical, n)
			critical += n
		}
		entries, _ := q.Plan(nil, pool, depth, 3)
		for _, e := range entries {
			if pool.Priority(e.Page()) == PriorityCritical {
				critical -= e.Count()
			}
		}
		if critical != 0 {
			t.Fatalf("%d critical slots of %d are not in a wave of %d", critical, burst, depth)
		}
	})
}

func TestCriticalWorkAloneFillsTheWave(t *testing.T) {
	pool := newPool(t, 400)
	var q Queue
	for range 300 {
		add(t, pool, &q, PriorityCritical, PageSlots)
	}
	for range 10 {
		entries, slots := q.Plan(nil, pool, 30*PageSlots, 3)
		if slots != 30*PageSlots {
			t.Fatalf("planned %d slots", slots)
		}
		finish(pool, entries)
		settle(t, pool, &q, entries)
	}
}

// TestNothingStarvesUnderAnyMix simulates waves of any depth while work of
// every priority keeps coming. A priority that has work is served within the
// ageing threshold and a few waves, whatever the others bring.
func TestNothingStarvesUnderAnyMix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := newPool(t, 200)
		var q Queue
		threshold := rapid.Uint32Range(1, 40).Draw(t, "threshold")
		arrivals := rapid.SliceOfN(rapid.IntRange(0, 600), Priorities, Priorities).Draw(t, "arrivals")
		yields := rapid.SliceOfN(rapid.Bool(), Priorities, Priorities).Draw(t, "yields")
		depths := rapid.SliceOfN(rapid.IntRange(1, 3000), 1, 5).Draw(t, "depths")
		var unserved [Priorities]uint32
		for wave := range 400 {
			for p, n := range arrivals {
				for n > 0 && pool.Free() > (Priorities-p)*20 {
					add(t, pool, &q, uint32(p), min(n, PageSlots))
					n -= PageSlots
				}
			}
			var waiting [Priorities]int
			for p := range waiting {
				waiting[p] = q.Waiting(pool, uint32(p))
			}
			entries, _ := q.Plan(nil, pool, depths[wave%len(depths)], threshold)
			var served [Priorities]bool
			for _, e := range entries {
				served[pool.Priority(e.Page())] = true
			}
			for p := range unserved {
				if unserved[p]++; served[p] || waiting[p] == 0 {
					unserved[p] = 0
				}
				if unserved[p] > threshold+Priorities {
					t.Fatalf("wave %d: priority %d has %d slots and was not served for %d waves, the threshold is %d",
						wave, p, waiting[p], unserved[p], threshold)
				}
			}
			for i := len(entries) - 1; i >= 0; i-- {
				number := entries[i].Page()
				if yields[pool.Priority(number)] {
					q.Return(pool, number, true)
					continue
				}
				finish(pool, entries[i:i+1])
				settle(t, pool, &q, entries[i:i+1])
			}
		}
	})
}

func TestYieldingPageLetsThoseBehindItRun(t *testing.T) {
	pool := newPool(t, 4)
	var q Queue
	yields := add(t, pool, &q, PriorityNormal, 10)
	behind := add(t, pool, &q, PriorityNormal, 10)
	for wave := range 2 {
		entries, _ := q.Plan(nil, pool, 10, ageing)
		if want := []uint32{yields, behind}[wave]; len(entries) != 1 || entries[0].Page() != want {
			t.Fatalf("wave %d: %v, want page %d", wave, entries, want)
		}
		q.Return(pool, entries[0].Page(), true)
	}
}

func TestPlanIsBoundedByDepthAndResumesInsideAPage(t *testing.T) {
	pool := newPool(t, 4)
	var q Queue
	number := add(t, pool, &q, PriorityNormal, 200)
	for _, want := range []struct{ count, slots int }{{80, 80}, {160, 80}, {200, 40}} {
		entries, slots := q.Plan(nil, pool, 80, ageing)
		if len(entries) != 1 || entries[0] != NewEntry(number, want.count) || slots != want.slots {
			t.Fatalf("entries %v with %d slots, want a prefix of %d with %d", entries, slots, want.count, want.slots)
		}
		finish(pool, entries)
		settle(t, pool, &q, entries)
	}
	if pool.Free() != 4 {
		t.Errorf("%d pages free", pool.Free())
	}
}

func TestPageThatIsWrittenWaits(t *testing.T) {
	pool := newPool(t, 2)
	var q Queue
	number := add(t, pool, &q, PriorityLow, 1)
	index, n := pool.Reserve(number, 5)
	if entries, _ := q.Plan(nil, pool, 10, ageing); len(entries) != 0 {
		t.Fatalf("planned %v while the page is written", entries)
	}
	pool.Publish(index, n)
	if _, slots := q.Plan(nil, pool, 10, ageing); slots != 6 {
		t.Errorf("planned %d slots of 6", slots)
	}
	if _, n := pool.Reserve(number, 1); n != 0 {
		t.Error("a scheduled page takes more slots")
	}
}

func TestPageIsInOneWaveAtATime(t *testing.T) {
	pool := newPool(t, 2)
	var q Queue
	add(t, pool, &q, PriorityHigh, 100)
	first, _ := q.Plan(nil, pool, 50, ageing)
	if again, slots := q.Plan(nil, pool, 50, ageing); slots != 0 {
		t.Errorf("page of %v is in a second wave: %v", first, again)
	}
}

func TestDroppedSlotsAreNotScheduled(t *testing.T) {
	pool := newPool(t, 2)
	var q Queue
	number := add(t, pool, &q, PriorityHigh, 3)
	for i := range 3 {
		pool.Drop(int(number)*PageSlots + i)
	}
	if entries, _ := q.Plan(nil, pool, 10, ageing); len(entries) != 0 || !pool.Idle(number) {
		t.Errorf("planned %v, idle %t", entries, pool.Idle(number))
	}
	q.Remove(pool.Idle)
	if err := pool.Release(number); err != nil || pool.Free() != 2 {
		t.Errorf("%d pages free, error %v", pool.Free(), err)
	}
}

func TestCollectPublishesWhatIsNotFinished(t *testing.T) {
	pool := newPool(t, 1)
	var q Queue
	add(t, pool, &q, PriorityHigh, 2)
	if s := pool.Collect(0, pool.Status(0)); s != NewStatus(Published) {
		t.Errorf("an unreached slot is %s", s)
	}
	if s := pool.Collect(0, pool.Status(0).Attempted().With(Requeued)); s != NewStatus(Published).Attempted() {
		t.Errorf("a requeued slot is %s", s)
	}
	if err := pool.Release(0); !errors.Is(err, ErrBusy) {
		t.Errorf("release of a page with work: %v", err)
	}
}

// TestQueueAgainstModel runs random operations on a pool and a queue beside a
// model made of a map and slices.
func TestQueueAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const pages = 12
		pool := newPool(t, pages)
		var q Queue
		waiting := [Priorities][]int{} // pool indexes of published slots, in order
		room := map[uint32]int{}       // open pages and the slots they still take
		held := 0
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				p := rapid.Uint32Range(0, Priorities-1).Draw(t, "priority")
				for range rapid.IntRange(1, 400).Draw(t, "slots") {
					number, ok := q.Last(p)
					if !ok || !pool.Open(number) {
						if ok && room[number] > 0 {
							t.Fatalf("page %d takes no slot, the model has room for %d", number, room[number])
						}
						if number, ok = pool.Alloc(p); !ok {
							if held != pages {
								t.Fatalf("no page, %d of %d held", held, pages)
							}
							return
						}
						held++
						room[number] = PageSlots
						q.Push(pool, number)
					}
					index, n := pool.Reserve(number, 1)
					if n != 1 {
						t.Fatalf("page %d is open and takes nothing", number)
					}
					pool.Publish(index, 1)
					room[number]--
					waiting[p] = append(waiting[p], index)
				}
			},
			"wave": func(t *rapid.T) {
				depth := rapid.IntRange(1, 2000).Draw(t, "depth")
				entries, slots := q.Plan(nil, pool, depth, 4)
				total := 0
				for _, w := range waiting {
					total += len(w)
				}
				if slots != min(depth, total) {
					t.Fatalf("planned %d of %d slots with depth %d", slots, total, depth)
				}
				var taken [Priorities][]int
				for _, e := range entries {
					p := pool.Priority(e.Page())
					delete(room, e.Page())
					for i := range e.Count() {
						if index := int(e.Page())*PageSlots + i; pool.Status(index).State() == Published {
							taken[p] = append(taken[p], index)
						}
					}
				}
				reached := rapid.IntRange(0, 100).Draw(t, "percent reached")
				for p, w := range waiting {
					if n := len(taken[p]); !slices.Equal(taken[p], w[:n]) {
						t.Fatalf("priority %d was scheduled out of order", p)
					}
					var left []int
					for i, index := range w {
						if i < len(taken[p]) {
							status := pool.Status(index)
							if (i*37+p)%100 < reached {
								pool.Collect(index, status.Attempted().With(Done))
								continue
							}
							if got := pool.Collect(index, status); got != status {
								t.Fatalf("slot %d: %s, want %s", index, got, status)
							}
						}
						left = append(left, index)
					}
					waiting[p] = left
				}
				held -= settle(t, pool, &q, entries)
				if pool.Free() != pages-held {
					t.Fatalf("%d pages free, %d held of %d", pool.Free(), held, pages)
				}
			},
			"": func(t *rapid.T) {
				for p, w := range waiting {
					if got := q.Waiting(pool, uint32(p)); got != len(w) {
						t.Fatalf("priority %d: %d live slots, want %d", p, got, len(w))
					}
				}
			},
		})
	})
}
