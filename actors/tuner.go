package actors

import "ringmaster/megakernel/tuner"

// tunerActor holds the measurements of a queue and tells the queue actor which
// width to use next. It never triggers a decision.
type tunerActor struct {
	*family
	samples *tuner.Samples // nil before the first measurement
	timings []timing       // reused between looks at the cell
}

func (a *tunerActor) receive(msg message) {
	switch msg.(type) {
	case reported:
		a.measure()
		a.suggest()
	}
}

func (a *tunerActor) measure() {
	a.timings = a.cell.takeTimings(a.timings[:0])
	if a.samples == nil && len(a.timings) > 0 {
		a.samples = new(tuner.Samples)
	}
	for _, t := range a.timings {
		a.samples.Observe(t.width, t.slots, t.ns)
	}
}

// suggest picks among the widths that the queue's own limits allow, which may
// be lower than the device's.
func (a *tunerActor) suggest() {
	current := a.planned.Load()
	if current == nil || a.samples == nil || !a.system.cfg.Tuning {
		return
	}
	width := tuner.Suggest(a.samples, tuner.Candidates(current.limits), current.plan.WorkgroupSizeX)
	if a.suggested.Swap(width) != width {
		a.send(queueStage, tuned{})
	}
}

func (a *tunerActor) restarted(lost message) { a.revive(tunerStage, lost) }
