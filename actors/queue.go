package actors

import (
	"ringmaster/megakernel/tuner/session"
)

// queueActor turns wakes into decisions: it takes the folded view of its cell,
// joins it with what is known of the worker and the tuner, and has the result
// observed. It draws the decision numbers.
type queueActor struct {
	*family
	number uint64
	tuned  *session.View // nil: no opinion
}

func (a *queueActor) receive(msg message) {
	switch m := msg.(type) {
	case wake:
		a.decide()
	case tuned:
		a.tuned = a.suggested.Load()
	case *settled:
		m.drawn = a.number
		a.send(topologyStage, m)
	case reverted:
		a.replace(m)
	}
}

// replace decides again after a failed launch took back what was issued. The last
// recommendation then no longer matches the state of any stage, and perhaps nobody
// will report on this queue again. One decision is enough, and none is needed if
// another has already followed the news of the failure through the stages. It
// launches nothing by itself and takes nothing back, so it causes no further one.
func (a *queueActor) replace(m reverted) {
	if a.number == m.drawn && a.cell.poke()&wakeDecision != 0 {
		a.decideAgain()
	}
}

func (a *queueActor) decide() {
	device := a.device.view.Load()
	a.number++
	d := &decision{number: a.number, view: a.cell.take(), commitOnPublish: device.known && !device.local && !device.reporting}
	d.request = requestOf(&d.view, device, a.tuned)
	if !device.known {
		d.err = a.device.unknown()
	}
	a.send(topologyStage, d)
}

func (a *queueActor) restarted(lost message) { a.revive(queueStage, lost) }
