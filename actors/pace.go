package actors

import "time"

// Decisions of a queue follow each other as fast as its records, until records
// arrive faster than decisions are made. From then on each decision answers several
// records, and more decisions a second would only take processor time from the
// records that they are about. Such a queue is paced.
const (
	// pacedFrom is how many triggers one decision answers in a queue that is
	// paced. It is more than a publisher sends of one state of its queue.
	pacedFrom = 4
	// pace is the pause after a decision of a paced queue, and so what pacing
	// adds at most to the age of its newest value.
	pace = 5 * time.Millisecond
	// floodedFrom is how many triggers one decision answers in a queue that
	// pauses twice as long: nobody launches in step with records that arrive
	// every 80 µs.
	floodedFrom = 64
	floodedPace = 2 * pace
)

// due says when the decision after a published one is made.
type due uint8

const (
	dueOnRecord due = iota // nothing newer has arrived
	dueNow
	dueLater     // after pace
	dueMuchLater // after floodedPace
)

// pacer is the part of a cell that counts what decisions answer.
type pacer struct {
	triggers uint32 // since the last take
	paced    bool   // the last take had many
	flooded  bool   // very many
	pausing  bool   // until paceOver
}

func (p *pacer) taken() {
	p.paced, p.flooded = p.triggers >= pacedFrom, p.triggers >= floodedFrom
	p.triggers = 0
}

// paces reports whether a pause follows the decision that ends. There is none while
// somebody waits for an answer.
func (p *pacer) paces(waiting int) bool {
	p.pausing = p.paced && waiting == 0
	return p.pausing
}

// paceOver ends the pause of a paced queue.
func (c *cell) paceOver() wakes {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.pacer.pausing {
		return 0
	}
	c.pacer.pausing = false
	if c.deciding = c.dirty; c.dirty {
		return wakeDecision
	}
	return 0
}

// due is when the decision after a pause is made.
func (p *pacer) due() due {
	if p.flooded {
		return dueMuchLater
	}
	return dueLater
}
