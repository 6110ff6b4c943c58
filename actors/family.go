package actors

import (
	"sync"
	"sync/atomic"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// message is what actors send each other. A type that is not listed here is no
// message, so a value sent by mistake does not compile.
type message interface{ isMessage() }

type (
	// wake tells the queue actor to take its cell and decide.
	wake struct{}
	// written tells the queue actor what became of the decision that it wrote.
	written struct {
		id       uint64 // of the write
		sequence uint64
		how      telemetry.Written
	}
	// lookedUp tells the queue actor which message of its queue is the store's last.
	lookedUp struct {
		id   uint64            // of the write in doubt
		last *telemetry.Stored // nil: there is none
		err  error
	}
	// heard tells the queue actor that a message of its queue came by.
	heard struct{}
	// owned tells the queue actor that this process may decide now, or no longer.
	owned struct{}
	// settled tells the queue actor how a launch of a decision ended.
	settled struct {
		launch   uint64
		decision uint64
		ok       bool
		state    policy.State // what the decision left behind
	}
	// reported tells queue or tuner actor that the cell has launch reports.
	reported struct{}
	// halted tells the queue actor that the worker gave up on its plan, or tries it again.
	halted struct {
		edition uint64 // of the plan
	}
	// beat asks the queue actor for a heartbeat.
	beat struct{}
	// prioritized tells the diffusion actor that a cell has a new priority.
	prioritized struct{ family *family }
	// spread tells the diffusion actor that priorities have changed.
	spread struct{}
	// launched tells the diffusion actor that a launch of its worker has ended.
	launched struct{}
	// forgotten tells diffusion and worker actor that a queue is no longer known.
	forgotten struct{ family *family }
	// diffused carries the priorities of all queues of a worker to its actor.
	diffused struct{ byQueue map[string]float64 }
	// planned tells the worker actor that a queue has decided.
	planned struct{}
	// arrived tells the worker actor that its inbox has items.
	arrived struct{}
)

func (wake) isMessage()        {}
func (*written) isMessage()    {}
func (*lookedUp) isMessage()   {}
func (heard) isMessage()       {}
func (owned) isMessage()       {}
func (*settled) isMessage()    {}
func (reported) isMessage()    {}
func (halted) isMessage()      {}
func (beat) isMessage()        {}
func (prioritized) isMessage() {}
func (spread) isMessage()      {}
func (launched) isMessage()    {}
func (forgotten) isMessage()   {}
func (diffused) isMessage()    {}
func (planned) isMessage()     {}
func (arrived) isMessage()     {}

// family is one queue: its cell, the state of its two actors, and what others
// may read of it without asking. It is known from its first record until it
// has been idle for idleAfter.
type family struct {
	system *System
	device *device
	name   string // of the queue
	place  int32  // in System.roster; guarded by System.mu
	number uint64 // of the queues that this process came to know

	cell  cell
	queue queueActor
	tuner tunerActor

	// Constant once the family is known.
	supervisor, queueAddr, tunerAddr address

	busy       atomic.Int64               // messages on their way to the actors or in hand, and restarts that are due
	life       sync.Mutex                 // held while anybody sends to the actors, and over changes of the fields below
	gone       atomic.Bool                // forgotten
	working    atomic.Bool                // it has work, or had some lately
	deadline   atomic.Uint32              // ms, the shortest of its batches of late; 0: none
	told       atomic.Uint64              // the claim that device.sharing has of it
	quarantine atomic.Pointer[quarantine] // nil unless the queue is stopped
	halted     atomic.Pointer[halt]       // the plan that the worker gave up; nil: none
	panics     panics
	kept       []message // for the queue actor, in no cell: sent again after a panic or a quarantine

	suggested atomic.Pointer[session.View] // by the tuner actor; nil: no opinion
	looked    atomic.Uint64                // number of the last look that was launched, or let go
	audited   atomic.Uint64                // the last decision that was an audit and was launched
	exploring atomic.Pointer[session.Exploring]
	heard     atomic.Pointer[telemetry.Stored] // newest message of the store that came by
	stored    atomic.Pointer[decision]         // newest that the store has; nil without one
	standing  atomic.Pointer[Standing]         // nil: no decision was to be stored
	latest    atomic.Pointer[decision]
	planned   atomic.Pointer[decision] // the newest with a plan
	usual     atomic.Pointer[decision] // the newest with a plan that is for more than one launch
	waiting   atomic.Int64             // deliveries of work that are not settled
	pending   atomic.Int64             // slots submitted and not finished
}

func newFamily(s *System, d *device, queue string) *family {
	f := &family{system: s, device: d, name: queue}
	f.queue.family, f.tuner.family = f, f
	f.cell.carried, f.cell.audited = s.cfg.Store != nil, s.cfg.Policy.AuditLaunches != 0
	var addresses []address
	f.supervisor, addresses = s.shell.group(d.name+"."+queue, member{"queue", &f.queue, &f.busy}, member{"tuner", &f.tuner, &f.busy})
	f.queueAddr, f.tunerAddr = addresses[0], addresses[1]
	return f
}

// atWork reports whether somebody waits for work that the queue has.
func (f *family) atWork() bool { return f.waiting.Load() != 0 || f.pending.Load() != 0 }

// dispatch sends the messages that a fold asks for.
func (f *family) dispatch(w wakes) {
	if w&wakePriority != 0 && !f.gone.Load() && !f.system.closed.Load() {
		f.system.shell.send(f.device.diffusionAddr, prioritized{f})
	}
	if w&(wakeDecision|wakeTuner|wakeOutcomes) == 0 {
		return
	}
	f.life.Lock()
	defer f.life.Unlock()
	f.wake(w)
}

// wake sends the wakes of the family's own actors; f.life is held.
func (f *family) wake(w wakes) {
	if w&wakeDecision != 0 {
		f.deliver(f.queueAddr, wake{})
	}
	if w&wakeTuner != 0 {
		f.deliver(f.tunerAddr, reported{})
	}
	if w&wakeOutcomes != 0 {
		f.deliver(f.queueAddr, reported{})
	}
}

// post sends a message that is in no cell to the queue actor.
func (f *family) post(m message) {
	f.life.Lock()
	defer f.life.Unlock()
	f.deliver(f.queueAddr, m)
}

// deliver sends to one of the family's actors. While the queue is stopped, news of
// launches is kept for later and everything else is dropped, because the cell still
// says it. f.life is held.
func (f *family) deliver(to address, m message) {
	switch {
	case f.gone.Load() || f.system.closed.Load():
	case f.quarantine.Load() != nil:
		f.keep(m)
	default:
		f.system.shell.send(to, m)
	}
}

// keepAll puts messages aside that are in no cell.
func (f *family) keepAll(waiting []message) {
	f.life.Lock()
	defer f.life.Unlock()
	for _, m := range waiting {
		f.keep(m)
	}
}

// keep puts a message aside that is in no cell; f.life is held.
func (f *family) keep(m message) {
	switch m.(type) {
	case *settled, halted, *written, *lookedUp:
		f.kept = append(f.kept, m)
	}
}

// decideLater wakes a paced queue after its pause.
func (f *family) decideLater() {
	time.AfterFunc(pace, func() { f.dispatch(f.cell.paceOver()) })
}

// publishOutside publishes from outside of the actors, where a panic of the
// publisher would end the process. Of a queue without a decision to tell it says nothing.
func (f *family) publishOutside(s *decision, heartbeat bool) {
	if s == nil {
		return
	}
	defer func() {
		if why := recover(); why != nil {
			f.system.cfg.Logger.Error("publisher panicked", "worker", f.device.name, "queue", f.name, "error", why)
		}
	}()
	f.publish(s, false, heartbeat, nil)
}
