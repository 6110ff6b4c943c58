package ring

import (
	"errors"
	"fmt"
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

// add fills a new page of the queue with n slots of a priority.
func add(t *testing.T, pool *Pool, q *Queue, priority uint32, n int) uint32 {
	t.Helper()
	number, ok := pool.Alloc(priority)
	if !ok {
		t.Fatal("pool is empty")
	}
	q.Push(priority, number)
	for range n {
		if _, err := pool.Append(number, &Slot{Priority: priority}); err != nil {
			t.Fatal(err)
		}
	}
	return number
}

// finish marks every scheduled slot done, as a wave without faults does.
func finish(t interface{ Fatal(...any) }, pool *Pool, entries []Entry) (slots []int) {
	for _, e := range entries {
		for i := range e.Count() {
			index := int(e.Page())*PageSlots + i
			if pool.Status(index).State().Terminal() {
				continue
			}
			if _, err := pool.Collect(index, pool.Status(index).Attempted().With(Done)); err != nil {
				t.Fatal(err)
			}
			slots = append(slots, index)
		}
	}
	return slots
}

func TestScheduleSharesByQuantum(t *testing.T) {
	pool := newPool(t, 400)
	var q Queue
	for p := range uint32(Priorities) {
		for range 70 {
			add(t, pool, &q, p, PageSlots)
		}
	}
	entries, slots := q.Plan(nil, pool, 62*PageSlots)
	if slots != 62*PageSlots {
		t.Fatalf("%d slots", slots)
	}
	var pages [Priorities]int
	for _, e := range entries {
		pages[pool.Priority(e.Page())]++
	}
	if want := [Priorities]int{32, 16, 8, 4, 2}; pages != want {
		t.Errorf("pages by priority %v, want %v", pages, want)
	}
}

func TestLeastUrgentSlotRunsAlthoughUrgentWorkNeverEnds(t *testing.T) {
	for _, depth := range []int{1, 7, 256, 1000} {
		t.Run(fmt.Sprint("depth ", depth), func(t *testing.T) {
			pool := newPool(t, 64)
			var q Queue
			idle := add(t, pool, &q, PriorityIdle, 1)
			served := 0
			for served <= 2*16*PageSlots {
				for q.Pages(PriorityCritical) < 20 {
					add(t, pool, &q, PriorityCritical, PageSlots)
				}
				entries, slots := q.Plan(nil, pool, depth)
				finish(t, pool, entries)
				if pool.Live(idle) == 0 {
					return
				}
				served += slots
				if err := q.Sweep(pool, func(uint32) {}); err != nil {
					t.Fatal(err)
				}
			}
			t.Errorf("%d slots ran before the idle one", served)
		})
	}
}

func TestPlanIsBoundedByDepthAndResumesInsideAPage(t *testing.T) {
	pool := newPool(t, 4)
	var q Queue
	number := add(t, pool, &q, PriorityNormal, 200)
	for _, want := range []struct{ count, slots int }{{80, 80}, {160, 80}, {200, 40}} {
		entries, slots := q.Plan(nil, pool, 80)
		if len(entries) != 1 || entries[0] != NewEntry(number, want.count) || slots != want.slots {
			t.Fatalf("entries %v with %d slots, want a prefix of %d with %d", entries, slots, want.count, want.slots)
		}
		finish(t, pool, entries)
	}
	if err := q.Sweep(pool, func(uint32) {}); err != nil || pool.Free() != 4 {
		t.Errorf("%d pages free, error %v", pool.Free(), err)
	}
}

func TestScheduledPageTakesNoMoreSlots(t *testing.T) {
	pool := newPool(t, 1)
	var q Queue
	number := add(t, pool, &q, PriorityLow, 1)
	q.Plan(nil, pool, 10)
	if _, err := pool.Append(number, &Slot{Priority: PriorityLow}); !errors.Is(err, ErrSealed) {
		t.Errorf("error %v", err)
	}
}

func TestAbortRestoresTheTurn(t *testing.T) {
	pool := newPool(t, 80)
	var q Queue
	for p := range uint32(Priorities) {
		for range 16 {
			add(t, pool, &q, p, PageSlots)
		}
	}
	first, _ := q.Plan(nil, pool, 20*PageSlots)
	q.Abort()
	again, _ := q.Plan(nil, pool, 20*PageSlots)
	if !slices.Equal(first, again) {
		t.Errorf("after an abort the plan is %v, was %v", again, first)
	}
}

func TestCollectRefusesWhatTheDeviceMayNotWrite(t *testing.T) {
	pool := newPool(t, 1)
	var q Queue
	add(t, pool, &q, PriorityHigh, 2)
	for _, state := range []State{Empty, State(9)} {
		if _, err := pool.Collect(0, NewStatus(state)); !errors.Is(err, ErrTransition) {
			t.Errorf("published became %s: error %v", state, err)
		}
	}
	if s, err := pool.Collect(0, pool.Status(0)); err != nil || s.State() != Published || s.Age() != 1 {
		t.Errorf("an unreached slot is %s, error %v", s, err)
	}
	if s, err := pool.Collect(0, pool.Status(0).Attempted().With(Requeued)); err != nil || s.State() != Published || s.Attempts() != 1 || s.Age() != 2 {
		t.Errorf("a requeued slot is %s, error %v", s, err)
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
		where := map[int]uint32{}      // pool index to sequence
		age := map[int]uint32{}
		room := map[uint32]int{} // open pages and the slots they still take
		held := 0
		sequence := uint32(0)
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
						q.Push(p, number)
					}
					sequence++
					index, err := pool.Append(number, &Slot{Priority: p, Sequence: sequence})
					if err != nil {
						t.Fatal(err)
					}
					room[number]--
					waiting[p] = append(waiting[p], index)
					where[index] = sequence
					age[index] = 0
				}
			},
			"wave": func(t *rapid.T) {
				depth := rapid.IntRange(1, 2000).Draw(t, "depth")
				entries, slots := q.Plan(nil, pool, depth)
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
						if index := int(e.Page())*PageSlots + i; !pool.Status(index).State().Terminal() {
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
								if pool.Slot(index).Sequence != where[index] {
									t.Fatalf("slot %d holds %d, want %d", index, pool.Slot(index).Sequence, where[index])
								}
								if _, err := pool.Collect(index, status.Attempted().With(Done)); err != nil {
									t.Fatal(err)
								}
								delete(where, index)
								delete(age, index)
								continue
							}
							age[index]++
							if got, err := pool.Collect(index, status); err != nil || got.Age() != min(age[index], StatusAgeMask) {
								t.Fatalf("slot %d: %s, want age %d, error %v", index, got, age[index], err)
							}
						}
						left = append(left, index)
					}
					waiting[p] = left
				}
				if err := q.Sweep(pool, func(uint32) { held-- }); err != nil {
					t.Fatal(err)
				}
				if pool.Free() != pages-held {
					t.Fatalf("%d pages free, %d held of %d", pool.Free(), held, pages)
				}
			},
			"": func(t *rapid.T) {
				for p, w := range waiting {
					if got := q.Live(pool, uint32(p)); got != len(w) {
						t.Fatalf("priority %d: %d live slots, want %d", p, got, len(w))
					}
				}
			},
		})
	})
}
