package natsio

import (
	"context"
	"errors"
	"fmt"

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
	responder
	graphs Graphs
	ctx    context.Context
	cancel context.CancelFunc
}

// ServeGraphs answers requests on the worker's graph subjects until Stop. A
// request without an inbox to answer to is not carried out.
func (c *Conn) ServeGraphs(worker string, graphs Graphs) (*GraphService, error) {
	s := &GraphService{graphs: graphs}
	s.class, s.limits, s.carry = telemetry.SubjectGraph, telemetry.DefaultHeapLimits, s.carryOut
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.serve(c, worker, c.cfg.Subjects.Graph(worker, "*")); err != nil {
		s.cancel()
		return nil, err
	}
	return s, nil
}

// Stop ends the request under way, answers what has arrived and returns when
// the graphs will not be asked again.
func (s *GraphService) Stop(ctx context.Context) error {
	s.cancel()
	return s.responder.Stop(ctx)
}

func (s *GraphService) carryOut(_, queue, reply string) {
	r := &s.record.Resident
	if r.Ask != telemetry.ResidentList && !telemetry.ValidToken(r.Name) {
		s.refuse(reply, codeBadRequest, fmt.Errorf("graph name is not 1..%d of [A-Za-z0-9_-]", telemetry.MaxToken))
		return
	}
	if err := s.graphs.Answer(s.ctx, queue, r); err != nil {
		s.refuse(reply, graphCode(err), err)
		return
	}
	h := s.header()
	s.answer = telemetry.AppendResident(s.answer[:0], s.conn.cfg.Form, &h, r)
	s.respond(reply, s.answer)
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
