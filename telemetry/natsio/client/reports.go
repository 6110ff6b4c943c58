package client

import (
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// PublisherConfig says how a Publisher sends. The zero value suits most programs.
type PublisherConfig struct {
	// PerQueue sends the records of each queue on the queue's own subject, for
	// publishers that may not write to _batch. Queues then share no payloads.
	PerQueue bool
	// TakeOver has a queue's records replace another publisher that is live. Without
	// it a runtime refuses them until that one has been silent for a while.
	TakeOver bool
	// OnAnswer, if not nil, has every payload answered: it is called with nil for a
	// recommendation, and with why a runtime refused a record, which wraps
	// natsio.ErrRefused. It must not block.
	OnAnswer func(error)
}

// PublisherStats counts records.
type PublisherStats struct {
	Sent    uint64 // written to the connection
	Dropped uint64 // launch reports too many, and what the server's payload limit does not allow
	Waiting int    // due now
}

// Stats returns what has been done so far.
func (p *Publisher) Stats() PublisherStats {
	p.box.mu.Lock()
	defer p.box.mu.Unlock()
	s := p.box.stats
	s.Waiting = len(p.box.due) + len(p.box.launches)
	return s
}

// Report takes a record of a kind that has a method of its own. A worker record has no queue.
func (p *Publisher) Report(worker, queue string, r *telemetry.Record) error {
	return p.report(worker, queue, r.Kind, r.Body())
}

func (p *Publisher) report(worker, queue string, kind telemetry.Kind, body telemetry.Body) error {
	names := p.conn.Subjects()
	subject := names.Telemetry(worker, telemetry.BatchQueue)
	switch {
	case !telemetry.ValidToken(worker):
		return natsio.BadName("worker", worker)
	case kind == telemetry.KindWorker:
		subject, queue = names.Worker(worker), ""
	case !telemetry.ValidToken(queue) || queue == telemetry.BatchQueue:
		return natsio.BadName("queue", queue)
	case p.cfg.PerQueue:
		subject = names.Telemetry(worker, queue)
	}
	if err := p.box.put(key{worker, queue, kind}, subject, time.Now().UnixNano(), body); err != nil {
		return err
	}
	select {
	case p.wake <- struct{}{}:
	default: // the writer has not seen the last one yet
	}
	return nil
}

// Announce tells the runtime a worker's device limits, now, on every new connection and
// again every 5 s. Like the Report methods it fails with a *telemetry.RecordError if
// the runtime would refuse the record, with natsio.ErrBadName, ErrBacklog if records of
// 16384 queues and workers are kept, or ErrClosed.
func (p *Publisher) Announce(worker string, w *telemetry.Worker) error {
	return p.report(worker, "", telemetry.KindWorker, w)
}

// ReportQueue reports a queue's load.
func (p *Publisher) ReportQueue(worker, queue string, q *telemetry.Queue) error {
	return p.report(worker, queue, telemetry.KindQueue, q)
}

// ReportGraph reports a queue's graph.
func (p *Publisher) ReportGraph(worker, queue string, g *telemetry.Graph) error {
	return p.report(worker, queue, telemetry.KindGraph, g)
}

// ReportPriority sets a queue's priority among its siblings.
func (p *Publisher) ReportPriority(worker, queue string, r *telemetry.Priority) error {
	return p.report(worker, queue, telemetry.KindPriority, r)
}

// ReportLaunch reports one launch; its number is unique in the incarnation.
func (p *Publisher) ReportLaunch(worker, queue string, l *telemetry.Launch) error {
	return p.report(worker, queue, telemetry.KindLaunch, l)
}
