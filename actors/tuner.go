package actors

import (
	"ringmaster/megakernel/tuner/session"
)

// Bounds of the tuners for launches elsewhere, of one worker and of all; one takes about 6 KiB.
// Whoever may report launches chooses how many queues and kernels they are of.
const (
	workerTuners = 4096
	remoteTuners = 16_384
)

// tunerActor holds what a queue's launches taught and says which geometry the next
// decisions should ask for. It never triggers a decision.
type tunerActor struct {
	*family
	session *session.Session // nil before the first measurement
	timings []session.Report // reused between looks at the cell
}

func (a *tunerActor) receive(msg message) {
	switch msg.(type) {
	case reported:
		a.measure()
	}
}

func (a *tunerActor) measure() {
	a.timings = a.cell.takeTimings(a.timings[:0])
	if len(a.timings) == 0 || a.system.cfg.Autotuner == session.Off {
		return
	}
	if a.session == nil {
		a.session = new(session.Session)
		if view := a.suggested.Load(); view != nil { // of who decided before
			a.session = session.Resume(view.Kept())
		}
	}
	env := a.env()
	plan := a.planned.Load()
	changed := false
	for i := range a.timings {
		r := &a.timings[i]
		if plan != nil && r.Plan == (session.Plan{}) {
			r.Plan = *plan.forTuner() // a launch elsewhere
		}
		moved, err := a.session.Take(&env, r)
		if err != nil {
			a.untuned(err)
		}
		changed = changed || moved
	}
	if changed {
		a.suggest()
	}
	// Choosing what to try next may take a while. Decisions made meanwhile use the
	// best geometry so far.
	if a.session.Think(&env) {
		a.suggest()
	}
	exploring := a.session.Exploring(&env)
	a.exploring.Store(&exploring)
}

// suggest lets the next decisions ask for the session's view.
func (a *tunerActor) suggest() {
	view := a.session.View()
	a.suggested.Store(&view)
}

// env is what the session needs to know besides the reports: the limits are
// the queue's own, which may be lower than the device's.
func (a *tunerActor) env() session.Env {
	device := a.device.view.Load()
	env := session.Env{
		Mode: a.system.cfg.Autotuner, Spaces: a.system.spaces, Memory: a.system.cfg.TunerMemory,
		Device: device.identity, Limits: device.limits, Urgent: a.goal() != 0 || a.cell.preferred(),
	}
	if !device.local {
		env.Room, env.Memory = a.device.room, a.device.memory
	}
	if s := a.planned.Load(); s != nil {
		env.Limits = s.Request.Limits
	}
	return env
}

// remember hands what is under way to the memory. The actor must not run.
func (a *tunerActor) remember() {
	if a.session != nil {
		env := a.env()
		a.session.Park(&env)
	}
}

// leave frees the tuners of a queue that is forgotten.
func (a *tunerActor) leave() {
	a.remember()
	if a.session != nil {
		a.session.Close()
	}
}

func (a *tunerActor) restarted(lost message) { a.recover("tuner", lost) }
