package session

// work is how much of the time the device works for a queue, by its newest launches. It
// says whether the device's time is what the queue's users wait for: where the device
// has time to spare, or works for others, a quicker launch would help nobody.
type work struct{ done, passed float64 } // nanoseconds, older ones count less

const (
	workMemory = 32   // launches after which older ones count less
	busyShare  = .5   // from which the queue's users wait for the device
	mostNs     = 6e10 // that may pass between two launches: a clock that jumped says no more
)

// pass lets time pass until a launch.
func (w *work) pass(ns uint64) {
	const keep = 1 - 1./workMemory
	w.done *= keep
	w.passed = w.passed*keep + float64(min(ns, mostNs))
}

// do takes a launch of so much time on the device, since the last one at most.
func (w *work) do(ns, since uint64) { w.done += float64(min(ns, since, mostNs)) }

// busy says whether the queue's users wait for the device.
func (w *work) busy() bool { return w.passed > 0 && w.done >= busyShare*w.passed }

// counts is what a launch earns for looks, or costs if it is one. It is never more than
// the time that has passed by our own clock, whatever a report says.
func (w *work) counts(env *Env, r *Report, looks bool) uint64 {
	if !looks && (env.Urgent || !w.busy()) {
		return 0
	}
	return min(r.Ns, r.SinceNs)
}
