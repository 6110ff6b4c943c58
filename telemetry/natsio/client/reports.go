package client

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// key is what a publisher keeps one record of.
type key struct {
	worker, queue string
	kind          telemetry.Kind
}

// pending is the newest record of its key, or a launch report.
type pending struct {
	key
	subject string
	due     bool // a kept record is in Publisher.due
	record  telemetry.Record
}

// payload is one message and the records in it.
type payload struct {
	subject string
	data    []byte
	records []*pending
}

const (
	// payloadRecords bounds the records of a payload. The longest record, a launch
	// report, is 90 values, so that these stay below the receiver's bound on values.
	payloadRecords = 256
	// longestRecord bounds the bytes of one record.
	longestRecord = 4 << 10
)

// Announce tells the runtime a worker's device limits, now, after every reconnect and
// again every 5 s. Like the Report methods it fails with a *telemetry.RecordError if
// the runtime would refuse the record, with natsio.ErrBadName, ErrBacklog or ErrClosed.
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
	}
	next := &pending{key: key{worker, queue, r.Kind}}
	if !telemetry.ValidToken(worker) || r.Kind != telemetry.KindWorker && (!telemetry.ValidToken(queue) || queue == telemetry.BatchQueue) {
		return fmt.Errorf("%w: worker %q, queue %q", natsio.ErrBadName, worker, queue)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return natsio.ErrClosed
	}
	old := p.kept[next.key]
	if old != nil {
		next.record = old.record
	}
	next.record.Header = telemetry.Header{Kind: r.Kind, Incarnation: 1, Seq: 1}
	if err := merge(&next.record, r, p.cfg.TakeOver); err != nil {
		return err
	}
	if err := judge(&next.record); err != nil {
		return err
	}
	next.record.SentNs = time.Now().UnixNano()
	next.subject = p.subject(next.key)
	switch {
	case r.Kind == telemetry.KindLaunch:
		p.launches = append(p.launches, next)
		p.boundLaunches()
	case old != nil:
		old.record = next.record
		p.mark(old)
	case len(p.kept) >= maxKept:
		return fmt.Errorf("%w: %d records are kept", natsio.ErrBacklog, len(p.kept))
	default:
		p.kept[next.key] = next
		p.mark(next)
	}
	if len(p.subjects) < maxKept {
		p.subjects[next.subject] = true
	}
	p.signal()
	return nil
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

// mark makes a kept record due. Called with mu held, as boundLaunches is.
func (p *Publisher) mark(r *pending) {
	if !r.due {
		r.due = true
		p.due = append(p.due, r)
	}
}

// boundLaunches gives up the oldest launch reports of too many.
func (p *Publisher) boundLaunches() {
	if over := len(p.launches) - maxLaunches; over > 0 {
		p.launches = slices.Delete(p.launches, 0, over)
		p.dropped += uint64(over)
	}
}

func (p *Publisher) announceAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, r := range p.kept {
		if k.kind == telemetry.KindWorker {
			p.mark(r)
		}
	}
}

// take empties what is due into payloads, in the order in which they go out, with the
// next numbers of their subjects. On a new connection everything kept is due.
func (p *Publisher) take() []payload {
	p.mu.Lock()
	defer p.mu.Unlock()
	if session := p.conn.Session(); session != p.session {
		p.session, p.err = session, nil
		for _, r := range p.kept {
			p.mark(r)
		}
	}
	due := slices.Concat(p.launches, p.due)
	p.launches, p.due = nil, nil
	slices.SortStableFunc(due, inOrder)
	var out []payload
	limit := min(telemetry.DefaultTelemetryLimits.MaxBytes, int(p.conn.NATS().MaxPayload()))
	for _, r := range due {
		last := len(out) - 1
		if last < 0 || out[last].subject != r.subject || len(out[last].records) == payloadRecords || len(out[last].data)+longestRecord > limit {
			out = append(out, payload{subject: r.subject})
			last++
		}
		r.due = false
		h := p.conn.Header(r.subject)
		h.Kind, h.SentNs = r.kind, r.record.SentNs
		if !p.cfg.PerQueue {
			h.Queue = r.queue
		}
		r.record.Header = h
		out[last].data = telemetry.Append(out[last].data, p.conn.Encoding(), &r.record)
		out[last].records = append(out[last].records, r)
	}
	return out
}

// inOrder has announcements go first, because a plan needs them, and the queue records of
// a subject last, because one has the runtime decide.
func inOrder(a, b *pending) int {
	rank := func(r *pending) int { return slices.Index(sendOrder, r.kind) }
	return cmp.Or(
		cmp.Compare(min(rank(a), 1), min(rank(b), 1)),
		strings.Compare(a.subject, b.subject),
		cmp.Compare(rank(a), rank(b)),
	)
}

// sendOrder is the order of the kinds on a subject.
var sendOrder = []telemetry.Kind{telemetry.KindWorker, telemetry.KindLaunch, telemetry.KindPriority, telemetry.KindGraph, telemetry.KindQueue}

// written counts a payload, or reports false if it is to be written again.
func (p *Publisher) written(out *payload, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.sent += uint64(len(out.records))
	case errors.Is(err, nats.ErrMaxPayload): // it will never fit
		p.dropped += uint64(len(out.records))
		p.err = err
	default:
		return false
	}
	return true
}

// putBack makes records due that could not be written, by now with their newest values.
func (p *Publisher) putBack(payloads []payload) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var launches []*pending
	for i := range payloads {
		for _, r := range payloads[i].records {
			if r.kind == telemetry.KindLaunch {
				launches = append(launches, r)
			} else if p.kept[r.key] == r {
				p.mark(r)
			}
		}
	}
	p.launches = slices.Concat(launches, p.launches)
	p.boundLaunches()
}
