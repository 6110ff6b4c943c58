package actors

import (
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// DefaultPriority is the priority of a queue nobody has given one.
const DefaultPriority = 1.0

// diffusionActor holds the priorities of the queues of one worker and tells
// the worker actor what they are after spreading. It never triggers a decision.
type diffusionActor struct {
	*device
	queues                 []string
	priority, coefficients []float64
}

func (a *diffusionActor) receive(msg message) {
	switch m := msg.(type) {
	case prioritized:
		a.set(m.family)
	case forgotten:
		a.remove(m.family.name)
	}
	a.spread()
}

func (a *diffusionActor) set(f *family) {
	p := f.cell.takePriority()
	i := a.index(f.name)
	if i < 0 {
		i = len(a.queues)
		a.queues = append(a.queues, f.name)
		a.priority = append(a.priority, DefaultPriority)
		a.coefficients = append(a.coefficients, 0)
	}
	a.priority[i] = DefaultPriority
	take(p.Has, telemetry.HasPriority, &a.priority[i], p.Priority)
	a.coefficients[i] = p.Coefficient
}

func (a *diffusionActor) remove(queue string) {
	i := a.index(queue)
	if i < 0 {
		return
	}
	a.queues = append(a.queues[:i], a.queues[i+1:]...)
	a.priority = append(a.priority[:i], a.priority[i+1:]...)
	a.coefficients = append(a.coefficients[:i], a.coefficients[i+1:]...)
}

func (a *diffusionActor) index(queue string) int {
	for i, q := range a.queues {
		if q == queue {
			return i
		}
	}
	return -1
}

// spread hands the diffused priorities to the worker actor.
func (a *diffusionActor) spread() {
	w := a.worker.Load()
	if w == nil {
		return
	}
	cfg := &a.system.cfg
	spread := make([]float64, len(a.priority))
	if err := policy.Diffuse(spread, a.priority, a.coefficients, cfg.DiffusionEta, cfg.DiffusionIterations); err != nil {
		cfg.Logger.Error("priorities are used as they are", "worker", a.name, "error", err)
		copy(spread, a.priority)
	}
	byQueue := make(map[string]float64, len(spread))
	for i, q := range a.queues {
		byQueue[q] = spread[i]
	}
	a.system.shell.send(w.self, diffused{byQueue})
}

// restarted handles the lost message again, after a pause.
func (a *diffusionActor) restarted(lost message) {
	time.AfterFunc(a.system.cfg.RetryMax, func() {
		if lost != nil && !a.system.closed.Load() {
			a.system.shell.send(a.diffusionAddr, lost)
		}
	})
}
