package actors

import (
	"sync/atomic"
	"time"

	"ringmaster/telemetry"
)

// family is one queue: its cell, its four actors under a supervisor of their
// own, and what others may read of it without asking.
type family struct {
	system *System
	device *device
	name   string // of the queue

	cell       cell
	supervisor address
	queueAddr, topologyAddr,
	policyAddr, tunerAddr address

	latest  atomic.Pointer[telemetry.Recommendation]
	planned atomic.Pointer[decision] // the newest decision with a plan
	tally   tally
	waiting atomic.Int64  // deliveries of work that are not settled
	pending atomic.Int64  // slots submitted and not finished
	panics  atomic.Uint32 // in a row, since the last decision
	gone    atomic.Bool   // passivated
}

// tally counts what happened to one queue.
type tally struct {
	records, decisions, recommendations, heartbeats,
	switches, held, submitted atomic.Uint64
}

func newFamily(s *System, d *device, queue string) *family {
	f := &family{system: s, device: d, name: queue}
	var addresses []address
	f.supervisor, addresses = s.shell.group(d.name+"."+queue,
		member{"queue", &queueActor{family: f}},
		member{"topology", &topologyActor{family: f}},
		member{"policy", &policyActor{family: f}},
		member{"tuner", &tunerActor{family: f}},
	)
	f.queueAddr, f.topologyAddr, f.policyAddr, f.tunerAddr = addresses[0], addresses[1], addresses[2], addresses[3]
	return f
}

func (f *family) send(to address, m message) { f.system.shell.send(to, m) }

// dispatch sends the messages that a fold asks for.
func (f *family) dispatch(w wakes) {
	if w == 0 || f.gone.Load() || f.system.closed.Load() {
		return
	}
	if w&wakeDecision != 0 {
		f.send(f.queueAddr, wake{})
	}
	if w&wakeTuner != 0 {
		f.send(f.tunerAddr, reported{})
	}
	if w&wakeCommit != 0 {
		f.send(f.policyAddr, reported{})
	}
	if w&wakePriority != 0 {
		f.send(f.device.diffusionAddr, prioritized{f})
	}
}

// revive brings the queue back after one of its actors panicked. Wakes are
// sent again, because the cell still holds what they stood for; news of a
// launch is in no cell and is handled again itself. The pause grows while the
// queue keeps panicking.
func (f *family) revive(self address, lost message) {
	n := int(f.panics.Add(1))
	time.AfterFunc(f.system.cfg.pause(n), func() {
		if f.gone.Load() || f.system.closed.Load() {
			return
		}
		switch lost.(type) {
		case *settled, *halted:
			f.send(self, lost)
		}
		f.dispatch(f.cell.revive())
	})
}
