package client

import "ringmaster/telemetry"

// Announce tells the runtime a worker's device limits, now, on every new connection and
// again every 5 s. Like the Report methods it fails with a *telemetry.RecordError if
// the runtime would refuse the record, with natsio.ErrBadName, ErrBacklog if records of
// 16384 queues and workers are kept, or ErrClosed.
func (p *Publisher) Announce(worker string, w *telemetry.Worker) error {
	return p.Report(worker, "", &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindWorker}, Worker: *w})
}

// ReportQueue reports a queue's load.
func (p *Publisher) ReportQueue(worker, queue string, q *telemetry.Queue) error {
	return p.Report(worker, queue, &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindQueue}, Queue: *q})
}

// ReportGraph reports a queue's graph.
func (p *Publisher) ReportGraph(worker, queue string, g *telemetry.Graph) error {
	return p.Report(worker, queue, &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindGraph}, Graph: *g})
}

// ReportPriority sets a queue's priority among its siblings.
func (p *Publisher) ReportPriority(worker, queue string, r *telemetry.Priority) error {
	return p.Report(worker, queue, &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindPriority}, Priority: *r})
}

// ReportLaunch reports one launch; its number is unique in the incarnation.
func (p *Publisher) ReportLaunch(worker, queue string, l *telemetry.Launch) error {
	return p.Report(worker, queue, &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindLaunch}, Launch: *l})
}
