package megakernel

import (
	"testing"

	"pgregory.net/rapid"
)

// TestAllocationsNeverOverlap runs random allocations beside a model that marks
// every word.
func TestAllocationsNeverOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const length = 64
		var a allocations
		owner := [length]int{}
		live := map[int]span{}
		next := 1
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				words := rapid.Uint32Range(1, length+1).Draw(t, "words")
				free, run := uint32(0), uint32(0)
				for _, o := range owner {
					if run++; o != 0 {
						run = 0
					}
					free = max(free, run)
				}
				offset, ok := a.take(words, length)
				if ok != (words <= free) {
					t.Fatalf("%d words of a gap of %d: %t", words, free, ok)
				}
				if !ok {
					return
				}
				for i := offset; i < offset+words; i++ {
					if owner[i] != 0 {
						t.Fatalf("word %d is given out twice", i)
					}
					owner[i] = next
				}
				live[next] = span{offset, words}
				next++
			},
			"give": func(t *rapid.T) {
				for id, s := range live {
					if !a.give(s.offset) || a.give(s.offset) {
						t.Fatalf("range at %d is not freed once", s.offset)
					}
					clear(owner[s.offset : s.offset+s.words])
					delete(live, id)
					return
				}
			},
		})
	})
}
