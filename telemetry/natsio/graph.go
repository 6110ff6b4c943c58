package natsio

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// Errors of requests about graphs.
var (
	// ErrNoGraph says that the worker has no graph or result of that name.
	ErrNoGraph = errors.New("natsio: no such graph")
	// ErrGraphTooLarge says that a graph does not fit the worker.
	ErrGraphTooLarge = errors.New("natsio: the graph is too large for the worker")
	// ErrGraphRequest says that a graph or a run was refused for what it is.
	ErrGraphRequest = errors.New("natsio: refused")
)

// Graphs are the graphs on a worker's device. Answer carries one request of a
// queue out and makes the answer in its place; the error wraps ErrNoGraph,
// ErrGraphTooLarge or ErrGraphRequest where one of these is why. It may block and
// is called from one goroutine.
type Graphs interface {
	Answer(ctx context.Context, queue string, r *telemetry.Resident) error
}

// GraphService answers requests about the graphs of one worker.
type GraphService struct {
	conn    *Conn
	graphs  Graphs
	sub     *nats.Subscription
	ctx     context.Context
	cancel  context.CancelFunc
	decoder telemetry.Decoder
	record  telemetry.Record
	answer  []byte

	served, refused atomic.Uint64
}

// ServeGraphs answers requests on the worker's graph subjects until Stop. A
// request without an inbox to answer to is not carried out.
func (c *Conn) ServeGraphs(worker string, graphs Graphs) (*GraphService, error) {
	if !telemetry.ValidToken(worker) {
		return nil, fmt.Errorf("%w: worker %q", ErrBadName, worker)
	}
	s := &GraphService{conn: c, graphs: graphs}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	subject := c.cfg.Subjects.Graph(worker, "*")
	sub, err := c.nc.Subscribe(subject, s.handle)
	if err == nil {
		s.sub = sub
		err = sub.SetPendingLimits(heapPendingMessages, heapPendingBytes)
	}
	if err != nil {
		s.cancel()
		return nil, fmt.Errorf("natsio: subscribe %s: %w", subject, err)
	}
	return s, nil
}

// Stats counts requests since ServeGraphs.
func (s *GraphService) Stats() HeapStats {
	stats := HeapStats{Served: s.served.Load(), Refused: s.refused.Load()}
	if n, err := s.sub.Dropped(); err == nil {
		stats.Dropped = uint64(n)
	}
	return stats
}

// Stop ends the request under way, answers what has arrived and returns when
// the graphs will not be asked again.
func (s *GraphService) Stop(ctx context.Context) error {
	s.cancel()
	if err := drain(ctx, s.conn.nc, s.sub); err != nil {
		_ = s.sub.Unsubscribe() // ctx's error says more
		return fmt.Errorf("natsio: stop graphs: %w", err)
	}
	return nil
}

// handle answers one request.
func (s *GraphService) handle(m *nats.Msg) {
	if !s.conn.answerable(m.Reply) {
		return // nobody waits, or nobody who may be answered
	}
	_, _, queue, err := s.conn.cfg.Subjects.Parse(m.Subject)
	if err != nil {
		s.refuse(m.Reply, codeBadSubject, err)
		return
	}
	if len(m.Data) > telemetry.DefaultHeapLimits.MaxBytes {
		s.refuse(m.Reply, codeTooLarge, fmt.Errorf("request of %d bytes, at most %d of data", len(m.Data), telemetry.MaxGraphPart))
		return
	}
	if err := decodeOne(&s.decoder, &s.record, m.Data, telemetry.DefaultHeapLimits, telemetry.SubjectGraph); err != nil {
		s.refuse(m.Reply, codeBadRequest, err)
		return
	}
	r := &s.record.Resident
	if r.Ask != telemetry.ResidentList && !telemetry.ValidToken(r.Name) {
		s.refuse(m.Reply, codeBadRequest, fmt.Errorf("graph name is not 1..%d of [A-Za-z0-9_-]", telemetry.MaxToken))
		return
	}
	if err := s.graphs.Answer(s.ctx, queue, r); err != nil {
		s.refuse(m.Reply, graphCode(err), err)
		return
	}
	s.served.Add(1)
	h := s.conn.newHeader(1) // a reply subject carries one record, the first of its own sequence
	s.answer = telemetry.AppendResident(s.answer[:0], s.conn.cfg.Form, &h, r)
	_ = s.conn.publish(m.Reply, s.answer) // else the requester times out and may ask again
}

func (s *GraphService) refuse(reply, code string, err error) {
	s.refused.Add(1)
	s.conn.answerError(reply, code, err.Error())
}

// graphCode is the code of an answer that refuses a request.
func graphCode(err error) string {
	switch {
	case errors.Is(err, ErrNoGraph):
		return codeNotFound
	case errors.Is(err, ErrGraphTooLarge):
		return codeTooLarge
	case errors.Is(err, ErrGraphRequest):
		return codeBadRequest
	}
	return codeUnavailable
}
