package actors

import (
	"sync"
	"testing"
)

func TestRunnersRunEverythingOnce(t *testing.T) {
	r := newRunners()
	var callers, ran sync.WaitGroup // too many runs would make it panic
	const each = 5000
	ran.Add(4 * each)
	for range 4 {
		callers.Go(func() {
			for range each {
				r.Schedule(func() { r.Schedule(ran.Done) })
			}
		})
	}
	callers.Wait()
	ran.Wait()
	r.close()
}

// A mailbox that takes its time holds up at most the runner that runs it.
func TestRunnersGoOnBesideABusyOne(t *testing.T) {
	r := newRunners()
	busy, release, others := make(chan struct{}), make(chan struct{}), make(chan struct{})
	r.Schedule(func() { close(busy); <-release })
	<-busy
	r.Schedule(func() {})
	r.Schedule(func() { close(others) })
	<-others
	close(release)
	r.close()
}

func TestRunnersKeepNothingOfALongQueue(t *testing.T) {
	r := newRunners()
	var wait sync.WaitGroup
	for range 1000 {
		for range 10 {
			wait.Add(1)
			r.Schedule(wait.Done)
		}
		wait.Wait()
	}
	if n := cap(r.queue); n > 64 {
		t.Errorf("room for %d mailboxes after at most 10 at once", n)
	}
	r.close()
	if r.next != len(r.queue) {
		t.Errorf("%d mailboxes were not run", len(r.queue)-r.next)
	}
}
