package actors

import (
	"log/slog"
	"testing"

	"go.uber.org/goleak"
)

// held is a receiver that says that it has a message, and keeps it until it is told to go on.
type held struct{ has, goOn chan struct{} }

func (h *held) receive(message) { h.has <- struct{}{}; <-h.goOn }

func (h *held) restarted(message) {}

// All actors but one of those that may handle messages at a time wait. The other's messages are handled, whether
// its runner is new or was idle, and none is left when the actors have stopped.
func TestReceiversThatWaitHoldUpNoOther(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newShell(slog.New(slog.DiscardHandler), tap{})
	waiting := &held{make(chan struct{}), make(chan struct{})}
	other := &held{make(chan struct{}), make(chan struct{})}
	members := []member{{name: "other", receiver: other}}
	for range maxRunners - 1 {
		members = append(members, member{name: "waiting", receiver: waiting})
	}
	supervisor, addresses := s.group("g", members...)
	tell := func() {
		s.send(addresses[0], beat{})
		<-other.has
		other.goOn <- struct{}{}
	}
	for _, a := range addresses[1:] {
		s.send(a, beat{})
		tell()
		<-waiting.has
	}
	for range 100 {
		tell()
	}
	close(waiting.goOn)
	s.stop(supervisor)
	s.wait()
}
