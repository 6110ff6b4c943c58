package actors

import (
	"sync"

	"ringmaster/telemetry"
)

// hot is the part of a cell that queue records read and write: four cache lines.
// It is allocated by itself, so that those of queues created one after the other
// mostly lie next to each other in memory, and not at the same offset of every
// other page, where they would compete for the same cache lines.
type hot struct {
	family *family // nil for a cell by itself; its device and name are here too
	device *device
	name   string
	cold   *cell
	mu     *sync.Mutex // of the device: a payload is folded under one lock

	pacer      pacer
	dirty      bool   // something newer than the last take
	deciding   bool   // a wake is pending or a decision is on its way
	hasBacklog bool   // backlog is known
	walked     bool   // a job has walked here
	backlog    uint32 // slots submitted here and not finished

	ordering source        // of queue records
	records  SequenceRange // triggers since the last take

	folded   uint64
	accepted uint64 // records
	touched  uint64 // tick of the last accepted record or submission

	requeuesReported uint64 // last value of the publisher's counter
	executedReported uint64
	requeues         uint64 // all of them, over all incarnations and launches
	executed         uint64

	late    telemetry.LateQueue // newer than cold.queue
	crowded uint64              // last value of the publisher's requeued_hit_count, which is not hot and has room here
}

// heat makes the hot part of a new cell.
func (c *cell) heat(f *family, mu *sync.Mutex) {
	c.hot = &hot{cold: c, mu: mu, family: f}
	if f != nil {
		c.device, c.name = f.device, f.name
	}
}

// foldFlat is fold for the most frequent records; h.mu is held. Of their bodies
// only the counters are read now, the rest when a decision needs it.
func (h *hot) foldFlat(r *telemetry.Flat, tick uint64) (wakes, error) {
	if r.Kind != telemetry.KindQueue {
		return h.cold.foldFlatGraph(r, tick)
	}
	requeues, executed := r.Counters()
	if err := h.count(&r.Header, r.Has(), requeues, executed); err != nil {
		return 0, err
	}
	h.late.Merge(r, &h.cold.queue)
	h.note(&r.Header)
	h.accepted++
	h.touched = tick
	return h.trigger(), nil
}

func (c *cell) foldFlatGraph(r *telemetry.Flat, tick uint64) (wakes, error) {
	fresh, err := c.accept(&r.Header)
	if err != nil {
		return 0, err
	}
	r.MergeGraph(&c.graph)
	c.countHits(fresh)
	c.note(&r.Header)
	c.accepted++
	c.touched = tick
	return c.trigger(), nil
}

// count takes a queue record's place in the order and adds the growth of its cumulative
// counters. A record that is refused changes nothing.
func (h *hot) count(r *telemetry.Header, has telemetry.Presence, requeues, executed uint64) error {
	if !h.ordering.continues(r.Incarnation, r.Seq) {
		if _, err := h.cold.accept(r); err != nil {
			return err
		}
		h.requeuesReported, h.executedReported = 0, 0 // a new incarnation counts from 0
	}
	if !has.Has(telemetry.HasRequeueCount) {
		requeues = h.requeuesReported
	}
	if !has.Has(telemetry.HasExecutedCount) {
		executed = h.executedReported
	}
	if requeues < h.requeuesReported || executed < h.executedReported {
		return ErrRewind
	}
	h.requeues = addSaturating(h.requeues, requeues-h.requeuesReported)
	h.executed = addSaturating(h.executed, executed-h.executedReported)
	h.requeuesReported, h.executedReported = requeues, executed
	h.ordering.seq = r.Seq
	return nil
}

// note remembers which records the next decision answers.
func (h *hot) note(r *telemetry.Header) {
	if h.records.Incarnation != r.Incarnation {
		h.records = SequenceRange{Incarnation: r.Incarnation, First: r.Seq}
	}
	h.records.Last, h.records.SentNs = r.Seq, r.SentNs
}

// trigger asks for a decision if the queue is known; h.mu is held.
func (h *hot) trigger() wakes {
	if !h.ordering.known() && !h.hasBacklog && !h.walked {
		return 0
	}
	var w wakes
	if h.dirty {
		h.folded++
		if h.folded%yieldEvery == 0 {
			w = fallenBehind
		}
	}
	h.dirty = true
	h.pacer.triggers++
	if h.deciding {
		return w
	}
	h.deciding = true
	return wakeDecision
}
