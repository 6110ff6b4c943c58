package actors

import (
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// defaultPriority is the priority of a queue nobody has given one.
const defaultPriority = 1.0

// diffusionActor holds the priorities of the queues of one worker and tells
// the worker actor what they are after spreading. It never triggers a decision.
//
// What has spread is kept: it goes on with each launch until it no longer moves, and from
// where it is when a priority changes. Queues share nothing unless a publisher says how
// freely (the coefficient), and then nothing here costs a launch anything.
type diffusionActor struct {
	*device
	queues    []string
	siblings  []policy.Sibling // of the same index
	places    map[string]int   // of queues
	spreading bool             // a spread message is on its way
}

func (a *diffusionActor) receive(msg message) {
	switch m := msg.(type) {
	case prioritized:
		a.set(m.family)
	case forgotten:
		a.remove(m.family.name)
	case launched:
		if a.diffusing.Load() {
			a.changed()
		}
	case spread:
		a.spreading = false
		a.diffuse()
	}
}

func (a *diffusionActor) set(f *family) {
	if f.gone.Load() {
		return
	}
	p := f.cell.takePriority()
	priority := defaultPriority
	take(p.Has, telemetry.HasPriority, &priority, p.Priority)
	i, known := a.places[f.name]
	if !known {
		i = len(a.queues)
		a.places[f.name] = i
		a.queues = append(a.queues, f.name)
		a.siblings = append(a.siblings, policy.Sibling{Spread: priority})
	}
	a.siblings[i].Priority, a.siblings[i].Coefficient = priority, p.Coefficient
	a.changed()
}

// remove moves the last queue to the place of the one that is gone.
func (a *diffusionActor) remove(queue string) {
	i, known := a.places[queue]
	if !known {
		return
	}
	last := len(a.queues) - 1
	a.queues[i], a.siblings[i] = a.queues[last], a.siblings[last]
	a.places[a.queues[i]] = i
	a.queues, a.siblings = a.queues[:last], a.siblings[:last]
	delete(a.places, queue)
	a.changed()
}

// changed asks for one spread after whatever is in the mailbox already: it
// costs time in proportion to the number of queues, and one does for many
// changes.
func (a *diffusionActor) changed() {
	if a.spreading || a.worker.Load() == nil {
		return
	}
	a.spreading = true
	a.system.shell.send(a.diffusionAddr, spread{})
}

// diffuse spreads the priorities by one turn and hands them to the worker actor.
func (a *diffusionActor) diffuse() {
	a.diffusing.Store(policy.Diffuse(a.siblings))
	byQueue := make(map[string]float64, len(a.queues))
	for i, q := range a.queues {
		byQueue[q] = a.siblings[i].Spread
	}
	a.system.shell.send(a.worker.Load().self, diffused{byQueue})
}

// restarted handles the lost message again, after a pause.
func (a *diffusionActor) restarted(lost message) {
	time.AfterFunc(retryMax, func() {
		if lost != nil && !a.system.closed.Load() {
			a.system.shell.send(a.diffusionAddr, lost)
		}
	})
}
