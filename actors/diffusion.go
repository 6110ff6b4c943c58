package actors

import (
	"math"
	"slices"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// DefaultPriority is the priority of a queue nobody has given one.
const DefaultPriority = 1.0

// diffusionActor holds the priorities of the queues of one worker and tells
// the worker actor what they are after spreading. It never triggers a decision.
//
// What has spread is kept: it goes on with each launch until it no longer moves, and from
// where it is when a priority changes. Queues share nothing unless a publisher says how
// freely (the coefficient), and then nothing here costs a launch anything.
type diffusionActor struct {
	*device
	queues                         []string
	places                         map[string]int // of queues
	priority, coefficients, spread []float64
	spreading                      bool // a spread message is on its way
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
	i, known := a.places[f.name]
	if !known {
		if a.places == nil {
			a.places = make(map[string]int)
		}
		i = len(a.queues)
		a.places[f.name] = i
		a.queues = append(a.queues, f.name)
		a.priority = append(a.priority, DefaultPriority)
		a.coefficients = append(a.coefficients, 0)
		a.spread = append(a.spread, 0)
	}
	a.priority[i] = DefaultPriority
	take(p.Has, telemetry.HasPriority, &a.priority[i], p.Priority)
	if !known || p.Coefficient == 0 {
		a.spread[i] = a.priority[i] // nothing is shared: it follows at once
	}
	a.coefficients[i] = p.Coefficient
	a.changed()
}

// remove moves the last queue to the place of the one that is gone.
func (a *diffusionActor) remove(queue string) {
	i, known := a.places[queue]
	if !known {
		return
	}
	last := len(a.queues) - 1
	moved := a.queues[last]
	a.queues[i], a.priority[i], a.coefficients[i], a.spread[i] = moved, a.priority[last], a.coefficients[last], a.spread[last]
	a.queues, a.priority, a.coefficients, a.spread = a.queues[:last], a.priority[:last], a.coefficients[:last], a.spread[:last]
	a.places[moved] = i
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

// stillMoves is the share of a priority below which a spread no longer moves.
const stillMoves = 1e-9

// diffuse spreads the priorities by one turn and hands them to the worker actor.
func (a *diffusionActor) diffuse() {
	cfg := &a.system.cfg
	before := slices.Clone(a.spread)
	if err := policy.DiffuseOn(a.spread, a.priority, a.coefficients, cfg.DiffusionEta, cfg.DiffusionIterations); err != nil {
		cfg.Logger.Error("priorities are used as they are", "worker", a.name, "error", err)
		copy(a.spread, a.priority)
	}
	moves := false
	byQueue := make(map[string]float64, len(a.spread))
	for i, q := range a.queues {
		byQueue[q] = a.spread[i]
		moves = moves || math.Abs(a.spread[i]-before[i]) > stillMoves*math.Abs(a.spread[i])
	}
	a.diffusing.Store(moves)
	a.system.shell.send(a.worker.Load().self, diffused{byQueue})
}

// restarted handles the lost message again, after a pause.
func (a *diffusionActor) restarted(lost message) {
	time.AfterFunc(a.system.cfg.RetryMax, func() {
		if lost != nil && !a.system.closed.Load() {
			a.system.shell.send(a.diffusionAddr, lost)
		}
	})
}
