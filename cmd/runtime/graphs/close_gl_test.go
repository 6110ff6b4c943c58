//go:build cgo

package graphs

import (
	"testing"
	"time"
)

// A drain may end before a run does: with --drain 0 at once.
func TestAStoreIsClosedWhileARunWaitsForTheDevice(t *testing.T) {
	s := newRingStore(t, 0)
	if err := s.load(t, "q", "g", "grid:30x30"); err != nil {
		t.Fatal(err)
	}
	turns, closed := 0, false
	s.turn = func() {
		if turns++; turns != 3 { // the run has its graph, and is between two of its turns
			return
		}
		s.turn = func() {}
		done := make(chan error, 1)
		go func() { done <- s.Close() }()
		select {
		case err := <-done:
			closed = err == nil
		case <-time.After(patience):
			t.Error("close waits for the run, which waits for the device")
		}
	}
	if err := s.search(t.Context(), "q", "g"); err != nil {
		t.Error(err)
	}
	if !closed {
		t.Errorf("not closed; %d turns", turns)
	}
}
