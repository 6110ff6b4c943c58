package main

import "testing"

func TestWhatBecameOfBatchesIsCounted(t *testing.T) {
	var all worked
	all.add([]fate{
		{acknowledged: true, done: true}, // ran once
		{acknowledged: true, done: true}, // ran twice
		{acknowledged: true},             // ran, and its done record did not come
		{acknowledged: true, done: true}, // did not run, whatever was said
		{},                               // may have run
		{},                               // may not have run
		{},                               // may not have run twice
	}, []uint32{1, 2, 1, 0, 1, 0, 2})
	if want := (worked{acknowledged: 4, lost: 2, twice: 2}); all != want {
		t.Errorf("%+v, want %+v", all, want)
	}
}
