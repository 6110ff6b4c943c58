package main

import "testing"

// Two workers ran batches 1 to 4: batch 2 ran at both, batch 3 at none, and batch 4 has no done record.
func TestBatchesThatRanTwiceOrNotAtAllAreCounted(t *testing.T) {
	b := &batches{}
	b.begin()
	windows := func() [][]uint32 { return [][]uint32{make([]uint32, counters), make([]uint32, counters)} }
	before, after := windows(), windows()
	before[1][2], after[1][2] = 7, 7 // of turns that have ended
	for n, ran := range [][2]uint32{1: {1, 0}, 2: {1, 1}, 3: {0, 0}, 4: {0, 1}} {
		if n > 0 {
			b.open[string(rune('a'+n))] = &inPool{}
			b.wanted[n]++
			after[0][n] += ran[0]
			after[1][n] += ran[1]
		}
	}
	b.ended, b.twice = 3, 1
	var o outcome
	o.count(b, before, after)
	if o.batches != 4 || o.lost != 1 || o.ranTwice != 1 || o.doneTwice != 1 || o.ran[0] != 2 || o.ran[1] != 2 {
		t.Errorf("%+v", o)
	}
	after[0][3]++ // now only the done record is missing
	o = outcome{}
	o.count(b, before, after)
	if o.lost != 1 {
		t.Errorf("without a done record: %+v", o)
	}
}
