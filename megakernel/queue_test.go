package megakernel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A line is what a slice would be, whoever leaves it.
func TestBatchesLeaveALineFromAnyPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l line
		var want []*batch
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(want) == 0 || rapid.Bool().Draw(t, "comes") {
				b := new(batch)
				l.push(b, 2)
				want = append(want, b)
				continue
			}
			i := rapid.IntRange(0, len(want)-1).Draw(t, "leaves")
			l.remove(want[i], 2)
			want = slices.Delete(want, i, i+1)
		}
		var got, back []*batch
		for b := l.first; b != nil; b = b.place[2].next {
			got = append(got, b)
		}
		for b := l.last; b != nil; b = b.place[2].prev {
			back = append(back, b)
		}
		slices.Reverse(back)
		if !slices.Equal(got, want) || !slices.Equal(back, want) {
			t.Errorf("%d from the front, %d from the back, want %d", len(got), len(back), len(want))
		}
	})
}
