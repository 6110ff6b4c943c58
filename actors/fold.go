package actors

import (
	"math"

	"ringmaster/telemetry"
)

// fold merges one record and says which actors have to look. A record that is
// refused changes nothing.
func (c *cell) fold(r *telemetry.Record, reply string, tick uint64) (wakes, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	src := c.source(r.Kind)
	fresh, err := src.check(r.Incarnation, r.Seq)
	if err != nil {
		return 0, err
	}
	if r.Kind == telemetry.KindQueue {
		if err := c.count(&r.Queue, fresh); err != nil {
			return 0, err
		}
	}
	if fresh {
		c.forget(r.Kind, src.incarnation)
	}
	src.accept(r.Incarnation, r.Seq)
	c.touched = tick
	if reply != "" && len(c.replies) < maxReplies {
		c.replies = append(c.replies, reply)
	}

	switch r.Kind {
	case telemetry.KindQueue:
		c.queue.Merge(&r.Queue)
	case telemetry.KindGraph:
		c.graph.Merge(&r.Graph)
	case telemetry.KindPriority:
		c.priority.Merge(&r.Priority)
		return c.rank(), nil
	case telemetry.KindLaunch:
		return c.report(&r.Launch, true), nil
	}
	c.note(&r.Header)
	return c.trigger(), nil
}

// count adds what the cumulative counters of a queue record grew by. They
// start at 0 in every incarnation, so the first value of one counts whole.
func (c *cell) count(q *telemetry.Queue, fresh bool) error {
	requeues, executed := c.requeuesReported, c.executedReported
	if fresh {
		requeues, executed = 0, 0
	}
	if q.Has.Has(telemetry.HasRequeueCount) && q.RequeueCount < requeues ||
		q.Has.Has(telemetry.HasExecutedCount) && q.ExecutedCount < executed {
		return ErrRewind
	}
	if q.Has.Has(telemetry.HasRequeueCount) {
		c.requeues = addSaturating(c.requeues, q.RequeueCount-requeues)
		requeues = q.RequeueCount
	}
	if q.Has.Has(telemetry.HasExecutedCount) {
		c.executed = addSaturating(c.executed, q.ExecutedCount-executed)
		executed = q.ExecutedCount
	}
	c.requeuesReported, c.executedReported = requeues, executed
	return nil
}

// forget drops the gauges of a replaced publisher: those of the kind in which
// it was replaced, and those of the other kind it had published, because a
// publisher restarts as a whole. It stays welcome in the other kinds.
func (c *cell) forget(kind telemetry.Kind, replaced uint64) {
	if kind == telemetry.KindQueue || kind == telemetry.KindGraph && c.source(telemetry.KindQueue).publishedBy(replaced) {
		c.queue = telemetry.Queue{}
	}
	if kind == telemetry.KindGraph || kind == telemetry.KindQueue && c.source(telemetry.KindGraph).publishedBy(replaced) {
		c.graph = telemetry.Graph{}
	}
	if kind == telemetry.KindPriority {
		c.priority = telemetry.Priority{}
	}
}

// note remembers which records the next decision answers.
func (c *cell) note(h *telemetry.Header) {
	if c.records.Incarnation != h.Incarnation {
		c.records = SequenceRange{Incarnation: h.Incarnation, First: h.Seq}
	}
	c.records.Last, c.records.SentNs = h.Seq, h.SentNs
}

// report adds one launch report, of a remote worker with outcome, of the
// local worker without: its outcome travels with its state.
func (c *cell) report(l *telemetry.Launch, remote bool) wakes {
	ok := l.Status == telemetry.LaunchOK
	c.launches.launches++
	if !ok {
		c.launches.failed++
	}
	c.launches.executed = addSaturating(c.launches.executed, l.Executed)
	c.launches.faulted = addSaturating(c.launches.faulted, l.Faulted)
	c.requeues = addSaturating(c.requeues, l.Requeued)

	var w wakes
	if ok && l.ElapsedNs > 0 && l.Applied.WorkgroupSizeX > 0 {
		c.time(timing{l.Applied.WorkgroupSizeX, addSaturating(l.Executed, l.Faulted), l.ElapsedNs})
		if !c.tuning {
			c.tuning = true
			w |= wakeTuner
		}
	}
	if remote && l.Decision != 0 {
		if len(c.outcomes) == maxOutcomes {
			c.outcomes = c.outcomes[:copy(c.outcomes, c.outcomes[1:])]
			c.folded++
		}
		c.outcomes = append(c.outcomes, outcome{l.Launch, l.Decision, ok})
		if !c.reporting {
			c.reporting = true
			w |= wakeCommit
		}
	}
	return w
}

// reportLocal adds a report of the worker's own engine.
func (c *cell) reportLocal(l *telemetry.Launch) wakes {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.report(l, false)
}

// time keeps a timing. Where the tuner is that far behind, a launch joins the
// last one of its width, as if both had been one.
func (c *cell) time(t timing) {
	if len(c.timings) < maxTimings {
		c.timings = append(c.timings, t)
		return
	}
	for i := len(c.timings) - 1; i >= 0; i-- {
		if c.timings[i].width == t.width {
			c.timings[i].slots = addSaturating(c.timings[i].slots, t.slots)
			c.timings[i].ns = addSaturating(c.timings[i].ns, t.ns)
			return
		}
	}
}

// rank asks the diffusion actor to look.
func (c *cell) rank() wakes {
	if c.ranking {
		return 0
	}
	c.ranking = true
	return wakePriority
}

func addSaturating(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
