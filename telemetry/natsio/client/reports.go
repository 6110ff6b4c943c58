package client

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// key is what a publisher keeps one record of.
type key struct {
	worker, queue string
	kind          telemetry.Kind
}

// report is the newest record of its key, or a launch report. It does not change.
type report struct {
	key
	subject string
	record  telemetry.Record
}

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

// Report takes a record of any of these kinds. A worker record has no queue.
func (p *Publisher) Report(worker, queue string, r *telemetry.Record) error {
	if r.Kind == telemetry.KindWorker {
		queue = ""
	} else if !telemetry.ValidToken(queue) || queue == telemetry.BatchQueue {
		return fmt.Errorf("%w: queue %q", natsio.ErrBadName, queue)
	}
	if !telemetry.ValidToken(worker) {
		return fmt.Errorf("%w: worker %q", natsio.ErrBadName, worker)
	}
	next := &report{key: key{worker, queue, r.Kind}}
	next.subject = p.subject(next.key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return natsio.ErrClosed
	}
	old := p.kept[next.key]
	if old != nil {
		next.record = old.record
	} else if r.Kind != telemetry.KindLaunch && len(p.kept) >= maxKept {
		return fmt.Errorf("%w: %d records are kept", natsio.ErrBacklog, len(p.kept))
	}
	next.record.Header = telemetry.Header{Kind: r.Kind, Incarnation: 1, Seq: 1, SentNs: time.Now().UnixNano()}
	if err := merge(&next.record, r, p.cfg.TakeOver); err != nil {
		return err
	}
	if err := judge(&next.record); err != nil {
		return err
	}
	if r.Kind == telemetry.KindLaunch {
		p.launches = append(p.launches, next)
		p.boundLaunches()
	} else {
		p.kept[next.key], p.due[next.key] = next, struct{}{}
	}
	if len(p.subjects) < maxKept {
		p.subjects[next.subject] = true
	}
	select {
	case p.wake <- struct{}{}:
	default: // the writer has not seen the last one yet
	}
	return nil
}

func (p *Publisher) subject(k key) string {
	names := p.conn.Subjects()
	switch {
	case k.kind == telemetry.KindWorker:
		return names.Worker(k.worker)
	case p.cfg.PerQueue:
		return names.Telemetry(k.worker, k.queue)
	}
	return names.Telemetry(k.worker, telemetry.BatchQueue)
}

// encode appends a record with the next number of its subject.
func (p *Publisher) encode(payload []byte, r *report) []byte {
	record := r.record
	record.Header = p.conn.Header(r.subject)
	record.Kind, record.SentNs = r.kind, r.record.SentNs
	if !p.cfg.PerQueue {
		record.Header.Queue = r.queue
	}
	return telemetry.Append(payload, p.conn.Encoding(), &record)
}

// boundLaunches gives up the oldest launch reports of too many. Called with mu held.
func (p *Publisher) boundLaunches() {
	if over := len(p.launches) - maxLaunches; over > 0 {
		p.launches = slices.Delete(p.launches, 0, over)
		p.stats.Dropped += uint64(over)
	}
}

// merge sets what a report carries in whole. Taking over is an event, which merging of
// records leaves out.
func merge(whole, r *telemetry.Record, takeOver bool) error {
	switch r.Kind {
	case telemetry.KindWorker:
		whole.Worker = r.Worker
		whole.Worker.Capabilities, whole.Worker.Opcodes = slices.Clone(r.Worker.Capabilities), slices.Clone(r.Worker.Opcodes)
	case telemetry.KindLaunch:
		whole.Launch = r.Launch
		whole.Launch.OpcodeCounts, whole.Launch.Fingerprint = slices.Clone(r.Launch.OpcodeCounts), slices.Clone(r.Launch.Fingerprint)
	case telemetry.KindQueue:
		if fell(&r.Queue, &whole.Queue) {
			return &telemetry.RecordError{
				Kind: telemetry.KindQueue, Reason: telemetry.ReasonInconsistent,
				Err: errors.New("a counter fell; counters are cumulative for the publisher's life"),
			}
		}
		whole.Queue.Merge(&r.Queue)
		if takeOver || r.Queue.TakeOver {
			whole.Queue.TakeOver, whole.Queue.Has = true, whole.Queue.Has|telemetry.HasQueueTakeOver
		}
	case telemetry.KindGraph:
		whole.Graph.Merge(&r.Graph)
		if takeOver || r.Graph.TakeOver {
			whole.Graph.TakeOver, whole.Graph.Has = true, whole.Graph.Has|telemetry.HasGraphTakeOver
		}
	case telemetry.KindPriority:
		whole.Priority.Merge(&r.Priority)
		if takeOver || r.Priority.TakeOver {
			whole.Priority.TakeOver, whole.Priority.Has = true, whole.Priority.Has|telemetry.HasPriorityTakeOver
		}
	default:
		return fmt.Errorf("a %v record is not for publishers; queue, graph, priority, launch and worker are", r.Kind)
	}
	return nil
}

// fell reports whether a cumulative counter of a queue has fallen.
func fell(q, last *telemetry.Queue) bool {
	return q.Has.Has(telemetry.HasExecutedCount) && q.ExecutedCount < last.ExecutedCount ||
		q.Has.Has(telemetry.HasRequeueCount) && q.RequeueCount < last.RequeueCount
}

// judge fails as the receiver would.
func judge(r *telemetry.Record) error {
	var d telemetry.Decoder
	var read telemetry.Record
	d.Reset(telemetry.Append(nil, telemetry.EncodingArray, r))
	return d.Next(&read)
}
