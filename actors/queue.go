package actors

import "ringmaster/megakernel/policy"

// queueActor turns wakes into decisions: it takes the folded view of its cell,
// joins it with what is known of the worker and the tuner, and has the result
// observed. It draws the decision numbers.
type queueActor struct {
	*family
	number     uint64
	tunedWidth uint32
}

func (a *queueActor) receive(msg message) {
	switch m := msg.(type) {
	case wake:
		a.decide()
	case tuned:
		a.tunedWidth = m.width
	case *settled:
		a.send(topologyStage, m)
	}
}

func (a *queueActor) decide() {
	device := a.device.view.Load()
	a.number++
	d := &decision{number: a.number, view: a.cell.take(), commitOnPublish: device.known && !device.local && !device.reporting}
	d.request = requestOf(&d.view, device, a.tunedWidth)
	if device.known {
		d.observation = policy.Observe(&a.system.cfg.Policy, &d.request)
	} else {
		d.err = a.device.unknown()
	}
	a.send(topologyStage, d)
}

func (a *queueActor) restarted(lost message) { a.revive(queueStage, lost) }
