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
	fresh, err := h.ordering.check(r.Incarnation, r.Seq)
	if err != nil {
		return 0, err
	}
	requeues, executed := r.Counters()
	if err := h.count(r.Has(), requeues, executed, fresh); err != nil {
		return 0, err
	}
	if fresh {
		h.cold.replace(&r.Header, &h.ordering)
	}
	h.ordering.seq = r.Seq
	h.late.Merge(r, &h.cold.queue)
	h.note(&r.Header)
	h.accepted++
	h.touched = tick
	return h.trigger(), nil
}

func (c *cell) foldFlatGraph(r *telemetry.Flat, tick uint64) (wakes, error) {
	src := c.source(telemetry.KindGraph)
	fresh, err := src.check(r.Incarnation, r.Seq)
	if err != nil {
		return 0, err
	}
	if fresh {
		c.replace(&r.Header, src)
	}
	src.seq = r.Seq
	r.MergeGraph(&c.graph)
	c.countHits(fresh)
	c.note(&r.Header)
	c.accepted++
	c.touched = tick
	return c.trigger(), nil
}

// count adds the growth of the cumulative counters of a queue record. They start
// at 0 in every incarnation, so its first values count whole.
func (h *hot) count(has telemetry.Presence, requeueCount, executedCount uint64, fresh bool) error {
	requeues, executed := h.requeuesReported, h.executedReported
	if fresh {
		requeues, executed = 0, 0
	}
	if has.Has(telemetry.HasRequeueCount) && requeueCount < requeues ||
		has.Has(telemetry.HasExecutedCount) && executedCount < executed {
		return ErrRewind
	}
	if has.Has(telemetry.HasRequeueCount) {
		h.requeues = addSaturating(h.requeues, requeueCount-requeues)
		requeues = requeueCount
	}
	if has.Has(telemetry.HasExecutedCount) {
		h.executed = addSaturating(h.executed, executedCount-executed)
		executed = executedCount
	}
	h.requeuesReported, h.executedReported = requeues, executed
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
