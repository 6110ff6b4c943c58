package natsio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
)

// maxGraphRequests are carried out at the same time, of a queue a quarter of what the others leave. Above it requests are
// answered with code 429.
const maxGraphRequests = 128

// Graphs are the graphs on a worker's device. Answer carries out one request of a queue
// and overwrites it with the answer. Its error wraps ErrNoGraph, ErrGraphTooLarge,
// ErrGraphRequest or ErrGraphBusy where one of these is the reason. It may block, but not for
// a list, and is called from several goroutines at the same time. If ctx ends, its cause is
// ErrGraphCanceled or ErrStopping.
type Graphs interface {
	Answer(ctx context.Context, queue string, r *telemetry.GraphRequest) error
}

// GraphService answers requests about the graphs of one worker, each on a goroutine of its own.
type GraphService struct {
	responder
	graphs Graphs
	ctx    context.Context
	cancel context.CancelCauseFunc
	under  sync.WaitGroup

	mu     sync.Mutex
	runs   map[graphRun]context.CancelCauseFunc // those that can be canceled
	places map[string]int                       // requests under way, by queue
	taken  int                                  // of all queues
}

// graphRun is a run by what cancels it.
type graphRun struct {
	queue  string
	number uint64 // chosen by the requester
}

// ServeGraphs answers requests on the worker's graph subjects until Stop. A
// request without an inbox to answer to is not carried out.
func (c *Conn) ServeGraphs(worker string, graphs Graphs) (*GraphService, error) {
	s := &GraphService{graphs: graphs, runs: make(map[graphRun]context.CancelCauseFunc), places: make(map[string]int)}
	s.class, s.limits, s.carry = telemetry.SubjectGraph, telemetry.DefaultHeapLimits, s.carryOut
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	if err := s.serve(c, worker, c.cfg.Subjects.Graph(worker, "*")); err != nil {
		s.cancel(ErrStopping)
		return nil, err
	}
	if !s.madeBucket(c) { // who sends a file is not let make it, as whoever makes a stream chooses what it takes and repeats
		s.under.Go(func() {
			for attempt := 1; c.Pause(s.ctx, attempt) && !s.madeBucket(c); attempt++ {
			}
		})
	}
	return s, nil
}

// madeBucket makes the bucket of graph files, and reports whether it is there, or cannot be without JetStream.
func (s *GraphService) madeBucket(c *Conn) bool {
	ctx, cancel := context.WithTimeout(s.ctx, apiTimeout)
	defer cancel()
	_, err := c.graphStore(ctx)
	if err == nil || s.ctx.Err() != nil || errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return true
	}
	c.complaints.Warn("no graph file can be sent, as their bucket is not there; trying again", "", "", "bucket", c.GraphBucket(), "error", err)
	return false
}

// Stop ends the requests under way, answers what has arrived, and returns when Answer
// will not be called again, or ctx ends.
func (s *GraphService) Stop(ctx context.Context) error {
	s.cancel(ErrStopping)
	if err := s.responder.Stop(ctx); err != nil {
		return err
	}
	if err := waitFor(ctx, &s.under); err != nil {
		return fmt.Errorf("stop answering %v requests: %w", s.class, err)
	}
	return nil
}

// carryOut starts a request without waiting for it. A request to cancel finds the runs
// that arrived before it. A list is answered at once, however many requests are under way:
// by it an operator sees what keeps a worker busy, and a requester that the worker is there.
func (s *GraphService) carryOut(_, queue, reply string) {
	r := s.record.GraphRequest
	if r.Ask != telemetry.GraphList && !telemetry.ValidToken(r.Name) {
		s.refuse(reply, fmt.Errorf("%w: graph name is not 1..%d of [A-Za-z0-9_-]", ErrGraphRequest, telemetry.MaxToken))
		return
	}
	switch r.Ask {
	case telemetry.GraphCancel:
		s.finish(reply, &r, s.end(graphRun{queue, r.Result}))
		return
	case telemetry.GraphList:
		r.Data = nil // not where the request lies
		s.finish(reply, &r, s.graphs.Answer(s.ctx, queue, &r))
		return
	}
	if err := s.takePlace(queue); err != nil {
		s.finish(reply, &r, err)
		return
	}
	ctx, done, err := s.begin(queue, &r)
	if err != nil {
		s.leavePlace(queue)
		s.finish(reply, &r, err)
		return
	}
	r.Data = bytes.Clone(r.Data)
	s.under.Go(func() {
		err := s.graphs.Answer(ctx, queue, &r)
		done()
		s.leavePlace(queue)
		s.finish(reply, &r, err)
	})
}

// takePlace takes one of the places of requests under way; leavePlace gives it back.
func (s *GraphService) takePlace(queue string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.places[queue]
	if s.taken >= maxGraphRequests || own > 0 && own >= (maxGraphRequests-(s.taken-own))/4 {
		return fmt.Errorf("%w: %d requests are under way, %d of them of queue %s; it may have a quarter of what the others leave of %d",
			ErrGraphBusy, s.taken, own, queue, maxGraphRequests)
	}
	s.places[queue]++
	s.taken++
	return nil
}

func (s *GraphService) leavePlace(queue string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.places[queue]--; s.places[queue] == 0 {
		delete(s.places, queue)
	}
}

// begin makes the context of a request, by which a run can be canceled until done is called.
func (s *GraphService) begin(queue string, r *telemetry.GraphRequest) (ctx context.Context, done func(), err error) {
	run := graphRun{queue, r.Result}
	if r.Ask != telemetry.GraphRun || run.number == 0 {
		return s.ctx, func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs[run] != nil {
		return nil, nil, fmt.Errorf("%w: a run %d of queue %s is under way", ErrGraphRequest, run.number, queue)
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	s.runs[run] = cancel
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.runs, run)
		cancel(nil)
	}, nil
}

// end cancels a run.
func (s *GraphService) end(run graphRun) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cancel := s.runs[run]
	if cancel == nil {
		return fmt.Errorf("%w: no run %d of queue %s is under way", ErrNoGraph, run.number, run.queue)
	}
	cancel(ErrGraphCanceled)
	return nil
}

// finish answers a request.
func (s *GraphService) finish(reply string, r *telemetry.GraphRequest, err error) {
	if err != nil {
		s.refuse(reply, err)
		return
	}
	h := s.header()
	s.respond(reply, telemetry.Append(nil, s.conn.cfg.Encoding, h, r))
}
