package actors

// tunerActor holds the timings of a queue and tells the queue actor which
// width they speak for. It never triggers a decision.
type tunerActor struct {
	*family
	timings []timing // reused between looks at the cell
}

func newTunerActor(f *family) *tunerActor { return &tunerActor{family: f} }

func (a *tunerActor) receive(msg message) {
	if _, ok := msg.(reported); ok {
		a.timings = a.cell.takeTimings(a.timings[:0])
	}
}

func (a *tunerActor) restarted(lost message) { a.revive(a.tunerAddr, lost) }
