package kernelcache

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestQueueHoldsEachKeyOnceInOrderOfUrgency compares with a list that is sorted when asked.
func TestQueueHoldsEachKeyOnceInOrderOfUrgency(t *testing.T) {
	type entry struct {
		key, arrival int
		urgency
	}
	rapid.Check(t, func(t *rapid.T) {
		q := queue[int]{limit: rapid.IntRange(1, 6).Draw(t, "limit")}
		var model []entry
		order := func(a, b entry) int {
			switch {
			case a.urgency != b.urgency:
				return int(b.urgency) - int(a.urgency)
			case a.urgency == wanted:
				return b.arrival - a.arrival
			}
			return a.arrival - b.arrival
		}
		for now := range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.IntRange(0, 3).Draw(t, "pop") == 0 {
				next, ok := q.pop()
				if ok != (len(model) > 0) || ok && next.key != model[0].key {
					t.Fatalf("popped %v, %v of %v", next, ok, model)
				}
				if ok {
					model = model[1:]
				}
				continue
			}
			e := entry{rapid.IntRange(0, 9).Draw(t, "key"), now, urgency(rapid.IntRange(0, 2).Draw(t, "urgency"))}
			before := len(model)
			known := slices.IndexFunc(model, func(m entry) bool { return m.key == e.key })
			switch {
			case known >= 0 && (model[known].urgency > e.urgency || model[known].urgency == e.urgency && e.urgency != wanted):
				// It keeps its place.
			case known >= 0:
				model[known] = e
			default:
				model = append(model, e)
			}
			// Whoever is last after all have found their place has to go.
			slices.SortStableFunc(model, order)
			in, displaced := q.push(e.key, e.urgency)
			if len(model) > q.limit {
				model = model[:q.limit]
			}
			stays := slices.ContainsFunc(model, func(m entry) bool { return m.key == e.key })
			if in != stays || displaced != (in && known < 0 && before == q.limit) {
				t.Fatalf("push %v: in %v, displaced %v, want %v in %v", e, in, displaced, stays, model)
			}
			got := make([]int, len(q.items))
			want := make([]int, len(model))
			for i := range got {
				got[i] = q.items[i].key
			}
			for i := range want {
				want[i] = model[i].key
			}
			if !slices.Equal(got, want) {
				t.Fatalf("queue %v, want %v", got, want)
			}
		}
	})
}
