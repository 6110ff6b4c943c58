package main

import (
	"testing"
	"time"

	"ringmaster/megakernel"
)

// A queue whose window went to another one and came back counts from 0 again, and
// queues that are gone are forgotten, however many names there were.
func TestRatesOfTheWindowFollowQueuesThatComeAndGo(t *testing.T) {
	v := &ringView{executed: map[string]uint64{}, rates: map[string]float64{}}
	now := time.Unix(1000, 0)
	measure := func(queues ...megakernel.QueueSnapshot) float64 {
		now = now.Add(time.Second)
		return v.measure(now, queues)
	}
	row := func(name string, executed uint64) megakernel.QueueSnapshot {
		q := megakernel.QueueSnapshot{Name: name}
		q.Executed = executed
		return q
	}
	measure(row("a", 5000), row("b", 0))
	if total := measure(row("a", 6000)); total != 1000 {
		t.Errorf("%v slots/s, want 1000", total)
	}
	if total := measure(row("a", 300)); total != 300 {
		t.Errorf("%v slots/s of a queue that began again, want 300", total)
	}
	if len(v.executed) != 1 || len(v.rates) != 1 {
		t.Errorf("remembers %v and %v", v.executed, v.rates)
	}
}
