package actors

import (
	"sync"
	"sync/atomic"

	"ringmaster/megakernel/tuner/session"
)

// family is one queue: its cell, the state of its four actors, and what others
// may read of it without asking. It is known from its first record until it
// has been idle for Config.IdleAfter; its actors come and go (see park).
type family struct {
	system *System
	device *device
	name   string // of the queue

	cell     cell
	queue    queueActor
	topology topologyActor
	policy   policyActor
	tuner    tunerActor

	life       sync.Mutex // whether the actors run; held while anybody but they sends to them
	supervisor address    // zero while parked
	queueAddr, topologyAddr,
	policyAddr, tunerAddr address
	busy    atomic.Int64 // messages on their way to the actors or in hand, and restarts that are due
	panics  panics
	kept    []letter             // for the actors, while stopped
	stopped atomic.Pointer[rest] // nil unless the queue is stopped
	gone    atomic.Bool          // forgotten; set under life
	place   int32                // in System.roster; guarded by System.mu

	suggested atomic.Pointer[session.View] // by the tuner actor; nil: no opinion

	latest  atomic.Pointer[summary]
	planned atomic.Pointer[summary] // the newest with a plan
	tally   tally
	waiting atomic.Int64 // deliveries of work that are not settled
	pending atomic.Int64 // slots submitted and not finished
}

// stage names an actor of the family.
type stage uint8

const (
	queueStage stage = iota
	topologyStage
	policyStage
	tunerStage
)

// letter is a message that nobody may lose.
type letter struct {
	to      stage
	message message
}

// tally counts what happened to one queue.
type tally struct {
	decisions, recommendations, heartbeats,
	switches, held, submitted, stops atomic.Uint64
}

func newFamily(s *System, d *device, queue string) *family {
	f := &family{system: s, device: d, name: queue}
	f.queue.family, f.topology.family, f.policy.family, f.tuner.family = f, f, f, f
	return f
}

// address returns where a stage is while the family is live.
func (f *family) address(to stage) address {
	switch to {
	case queueStage:
		return f.queueAddr
	case topologyStage:
		return f.topologyAddr
	case policyStage:
		return f.policyAddr
	}
	return f.tunerAddr
}

// send is how one actor of the family sends to another: while it handles a
// message itself, the family is live.
func (f *family) send(to stage, m message) { f.system.shell.send(f.address(to), m) }

// post sends from outside of the family and makes it live. While the queue is
// stopped, news of launches is kept for later and everything else is dropped,
// because the cell still says it.
func (f *family) post(to stage, m message) {
	f.life.Lock()
	defer f.life.Unlock()
	f.deliver(to, m)
}

// deliver is post with f.life held.
func (f *family) deliver(to stage, m message) {
	if f.gone.Load() || f.system.closed.Load() {
		return
	}
	if f.stopped.Load() != nil {
		f.keep(to, m)
		return
	}
	f.awaken()
	f.send(to, m)
}

// keep puts a message aside that is in no cell, and has the cell know of a lost decision;
// f.life is held.
func (f *family) keep(to stage, m message) {
	switch m := m.(type) {
	case *settled, *halted, reverted, tuned:
		f.kept = append(f.kept, letter{to, m})
	case wake:
		f.cell.lose()
	case *decision:
		if !m.published.Load() {
			f.cell.lose()
		}
	}
}

// decideAgain is how an actor of the family sends the wake that the cell has
// asked for. A stopped queue finds it in its cell when its rest is over.
func (f *family) decideAgain() {
	if f.stopped.Load() == nil {
		f.send(queueStage, wake{})
		return
	}
	f.post(queueStage, wake{})
}

// dispatch sends the messages that a fold asks for.
func (f *family) dispatch(w wakes) {
	if w&wakePriority != 0 && !f.gone.Load() && !f.system.closed.Load() {
		f.system.shell.send(f.device.diffusionAddr, prioritized{f})
	}
	if w&(wakeDecision|wakeTuner|wakeCommit) == 0 {
		return
	}
	f.life.Lock()
	defer f.life.Unlock()
	f.wake(w)
}

// wake sends the wakes of the family's own actors; f.life is held.
func (f *family) wake(w wakes) {
	if w&wakeDecision != 0 {
		f.deliver(queueStage, wake{})
	}
	if w&wakeTuner != 0 {
		f.deliver(tunerStage, reported{})
	}
	if w&wakeCommit != 0 {
		f.deliver(policyStage, reported{})
	}
}

// publishOutside publishes from outside of the actors, where a panic of the
// publisher would end the process.
func (f *family) publishOutside(s *summary, heartbeat bool) {
	defer func() {
		if why := recover(); why != nil {
			f.system.cfg.Logger.Error("publisher panicked", "worker", f.device.name, "queue", f.name, "reason", why)
		}
	}()
	f.publish(s, false, heartbeat, nil)
}
