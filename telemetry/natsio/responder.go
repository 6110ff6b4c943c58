package natsio

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// ResponderStats counts the requests of one kind since it began.
type ResponderStats struct {
	Served  uint64 `json:"served"`  // carried out and answered
	Refused uint64 `json:"refused"` // answered with an error
	Dropped uint64 `json:"dropped"` // lost because too many waited; their senders time out
}

// What waits for those who may block is bounded. Above it the newest requests are
// dropped.
const (
	pendingRequests     = 256
	pendingRequestBytes = 32 << 20
)

// responder answers requests of one record on one class of a worker's subjects. What they
// ask for is carried out by one goroutine at a time.
type responder struct {
	conn   *Conn
	class  telemetry.SubjectClass
	limits telemetry.CheckLimits
	carry  func(worker, queue, reply string) // the request is in record
	admit  func() error                      // nil: every request; else why one has to come later

	sub     *nats.Subscription
	decoder telemetry.Decoder
	record  telemetry.Record
	answer  []byte // reused by those who answer before carry returns

	served, refused atomic.Uint64
}

// serve begins to answer requests on a worker's subjects, of which subject is the pattern.
func (s *responder) serve(c *Conn, worker, subject string) error {
	if !telemetry.ValidToken(worker) {
		return fmt.Errorf("%w: worker %q", ErrBadName, worker)
	}
	s.conn = c
	sub, err := c.nc.Subscribe(subject, s.handle)
	if err == nil {
		s.sub = sub
		err = sub.SetPendingLimits(pendingRequests, pendingRequestBytes)
	}
	if err != nil {
		return fmt.Errorf("subscribe %s: %w", subject, err)
	}
	c.settle()
	return nil
}

// Stats returns the counts so far.
func (s *responder) Stats() ResponderStats {
	stats := ResponderStats{Served: s.served.Load(), Refused: s.refused.Load()}
	if n, err := s.sub.Dropped(); err == nil {
		stats.Dropped = uint64(n)
	}
	return stats
}

// Stop answers what has arrived and returns when nothing more will be carried out.
func (s *responder) Stop(ctx context.Context) error {
	if err := drain(ctx, s.conn.nc, s.sub); err != nil {
		_ = s.sub.Unsubscribe() // ctx's error says more
		return fmt.Errorf("stop answering %v requests: %w", s.class, err)
	}
	return nil
}

func (s *responder) handle(m *nats.Msg) {
	if !s.conn.answerable(m.Reply) {
		return // nobody waits, or nobody who may be answered
	}
	if s.admit != nil {
		if err := s.admit(); err != nil {
			s.refuse(m.Reply, err)
			return
		}
	}
	_, worker, queue, err := s.conn.cfg.Subjects.Parse(m.Subject)
	if err != nil {
		s.refuse(m.Reply, fmt.Errorf("%w: %w", ErrRequest, err))
		return
	}
	if len(m.Data) > s.limits.MaxBytes {
		s.refuse(m.Reply, fmt.Errorf("%w: request of %d bytes, at most %d", ErrTooLarge, len(m.Data), s.limits.MaxBytes))
		return
	}
	if err := decodeOne(&s.decoder, &s.record, m.Data, s.limits, s.class); err != nil {
		s.refuse(m.Reply, fmt.Errorf("%w: %w", ErrRequest, err))
		return
	}
	s.carry(worker, queue, m.Reply)
}

// header is that of an answer: a reply subject carries one record, the first of its own sequence.
func (s *responder) header() telemetry.Header { return s.conn.newHeader(1) }

// respond sends an answer. If it is lost the requester times out and may ask again.
func (s *responder) respond(to string, answer []byte) {
	s.served.Add(1)
	_ = s.conn.publish(to, answer)
}

func (s *responder) refuse(reply string, err error) {
	s.refused.Add(1)
	s.conn.refuse(reply, s.class, err)
}
