package fairqueue

import (
	"fmt"
	"slices"
	"testing"
)

func TestTenantsAreServedByTurns(t *testing.T) {
	q := New[string](Bounds{Items: 100, Bytes: 100})
	for i, tenant := range []string{"a", "a", "a", "b", "c", "b"} {
		if wake, ok := q.Put(tenant, fmt.Sprint(tenant, i), 1); !ok || wake != (i == 0) {
			t.Errorf("item %d: wake %v, taken %v", i, wake, ok)
		}
	}
	var order []string
	for item, ok := q.Next(); ok; item, ok = q.Next() {
		order = append(order, item)
		if item == "b3" {
			q.Put("d", "d6", 1) // behind those who wait already
		}
	}
	if want := []string{"a0", "b3", "c4", "a1", "b5", "d6", "a2"}; !slices.Equal(order, want) {
		t.Errorf("served %v, want %v", order, want)
	}
	if wake, _ := q.Put("a", "again", 1); !wake {
		t.Error("nobody is asked to serve a queue that was left")
	}
}

func TestATenantHasAQuarterOfWhatTheOthersLeave(t *testing.T) {
	fill := func(q *Queue[int], tenant string, bytes int) (n int) {
		for {
			if _, ok := q.Put(tenant, n, bytes); !ok {
				return n
			}
			n++
		}
	}
	for name, c := range map[string]struct {
		bounds Bounds
		bytes  int
	}{
		"items": {Bounds{Items: 1024, Bytes: 1 << 30}, 1},
		"bytes": {Bounds{Items: 1 << 30, Bytes: 1024 * 64}, 64},
	} {
		q := New[int](c.bounds)
		if got := []int{fill(q, "a", c.bytes), fill(q, "b", c.bytes), fill(q, "c", c.bytes)}; !slices.Equal(got, []int{256, 192, 144}) {
			t.Errorf("%s: the first three tenants have %v, want 256, 192 and 144", name, got)
		}
		for i := range 2000 {
			fill(q, fmt.Sprint(i), c.bytes)
		}
		n := 0
		for _, ok := q.Next(); ok; _, ok = q.Next() {
			n++
		}
		if n != 1024 || len(q.lines) != 0 || q.under != (Bounds{}) {
			t.Errorf("%s: %d items had room, want 1024; %d lines and %v are left", name, n, len(q.lines), q.under)
		}
	}
}

func TestATenantWithoutItemsMayHaveOneOfAnySize(t *testing.T) {
	q := New[int](Bounds{Items: 10, Bytes: 100})
	for _, c := range []struct {
		tenant string
		bytes  int
		want   bool
	}{{"a", 101, false}, {"a", 60, true}, {"a", 1, false}, {"b", 41, false}, {"b", 40, true}, {"c", 1, false}} {
		if _, ok := q.Put(c.tenant, 0, c.bytes); ok != c.want {
			t.Errorf("%d bytes of %s: %v", c.bytes, c.tenant, ok)
		}
	}
}
