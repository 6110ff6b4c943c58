package natsio

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"golang.org/x/time/rate"

	"ringmaster/telemetry"
)

// CancelHandler withdraws a batch. It must not block. It calls answer exactly once,
// from any goroutine, with what was found and how many slots are dropped so far; err
// says why nothing was done or remembered.
type CancelHandler func(worker, queue, batch string, answer func(found telemetry.CancelFound, slots int, err error))

// What one worker is asked to withdraw. Above it requests are answered with code 429.
const (
	cancelsPerSecond = 2000
	cancelsAtOnce    = 4000
)

// cancelLimits fits one cancel record.
var cancelLimits = telemetry.CheckLimits{MaxBytes: 1024, MaxRecords: 1, MaxItems: 64, MaxString: 256, MaxDepth: 8}

const codeTooMany = "429"

// CancelStats counts requests since ServeCancel.
type CancelStats struct {
	Served  uint64 // answered with what was found
	Refused uint64 // answered with an error
}

// CancelService answers requests to withdraw batches of one worker.
type CancelService struct {
	conn    *Conn
	handler CancelHandler
	limit   *rate.Limiter
	sub     *nats.Subscription
	decoder telemetry.Decoder
	record  telemetry.Record

	served, refused atomic.Uint64
}

// ServeCancel answers requests on the worker's cancel subjects until Stop. A
// request without an inbox to answer to is not carried out.
func (c *Conn) ServeCancel(worker string, handler CancelHandler) (*CancelService, error) {
	if !telemetry.ValidToken(worker) {
		return nil, fmt.Errorf("%w: worker %q", ErrBadName, worker)
	}
	s := &CancelService{conn: c, handler: handler, limit: rate.NewLimiter(cancelsPerSecond, cancelsAtOnce)}
	subject := c.cfg.Subjects.Cancel(worker, "*")
	sub, err := c.nc.Subscribe(subject, s.handle)
	if err != nil {
		return nil, fmt.Errorf("natsio: subscribe %s: %w", subject, err)
	}
	s.sub = sub
	return s, nil
}

// Stats returns the counts so far.
func (s *CancelService) Stats() CancelStats {
	return CancelStats{Served: s.served.Load(), Refused: s.refused.Load()}
}

// Stop returns when the handler will not be called again.
func (s *CancelService) Stop(ctx context.Context) error {
	if err := drain(ctx, s.conn.nc, s.sub); err != nil {
		_ = s.sub.Unsubscribe() // ctx's error says more
		return fmt.Errorf("natsio: stop cancel: %w", err)
	}
	return nil
}

func (s *CancelService) handle(m *nats.Msg) {
	if !s.conn.answerable(m.Reply) {
		return // nobody waits, or nobody who may be answered
	}
	if !s.limit.AllowN(time.Now(), 1) {
		s.refuse(m.Reply, codeTooMany, fmt.Errorf("more than %d requests a second; ask again later", cancelsPerSecond))
		return
	}
	_, worker, queue, err := s.conn.cfg.Subjects.Parse(m.Subject)
	if err != nil {
		s.refuse(m.Reply, codeBadSubject, err)
		return
	}
	if len(m.Data) > cancelLimits.MaxBytes {
		s.refuse(m.Reply, codeTooLarge, fmt.Errorf("request of %d bytes, at most %d", len(m.Data), cancelLimits.MaxBytes))
		return
	}
	if err := decodeOne(&s.decoder, &s.record, m.Data, cancelLimits, telemetry.SubjectCancel); err != nil {
		s.refuse(m.Reply, codeBadRequest, err)
		return
	}
	batch, reply := s.record.Cancel.Batch, m.Reply
	s.handler(worker, queue, batch, func(found telemetry.CancelFound, slots int, err error) {
		if err != nil {
			s.refuse(reply, codeUnavailable, err)
			return
		}
		s.served.Add(1)
		h := s.conn.newHeader(1) // a reply subject carries one record, the first of its own sequence
		answer := telemetry.Cancel{Batch: batch, Found: found, Slots: uint32(slots)}
		_ = s.conn.publish(reply, telemetry.AppendCancel(nil, s.conn.cfg.Form, &h, &answer)) // else the requester may ask again
	})
}

func (s *CancelService) refuse(reply, code string, err error) {
	s.refused.Add(1)
	s.conn.answerError(reply, code, err.Error())
}

// CancelWork asks a worker to withdraw a batch and returns what it found and how
// many slots it has dropped so far; what became of the batch is in its done record.
// Asking again is safe. The error wraps ErrNoRuntime if no worker of that name owns
// a device, ErrBadName or ctx's error.
func (c *Conn) CancelWork(ctx context.Context, worker, queue, batch string) (found telemetry.CancelFound, slots int, err error) {
	if err := checkNames(worker, queue); err != nil {
		return 0, 0, err
	}
	if !telemetry.ValidToken(batch) {
		return 0, 0, fmt.Errorf("%w: batch %q", ErrBadName, batch)
	}
	fail := func(err error) (telemetry.CancelFound, int, error) {
		return 0, 0, fmt.Errorf("natsio: cancel batch %s of %s.%s: %w", batch, worker, queue, err)
	}
	h := c.newHeader(1)
	answer, err := c.nc.RequestWithContext(ctx, c.cfg.Subjects.Cancel(worker, queue),
		telemetry.AppendCancel(nil, c.cfg.Form, &h, &telemetry.Cancel{Batch: batch}))
	if errors.Is(err, nats.ErrNoResponders) {
		return fail(ErrNoRuntime)
	}
	if err != nil {
		return fail(err)
	}
	if code := answer.Header.Get(micro.ErrorCodeHeader); code != "" {
		return fail(fmt.Errorf("code %s: %s", code, answer.Header.Get(micro.ErrorHeader)))
	}
	var d telemetry.Decoder
	var r telemetry.Record
	if err := decodeOne(&d, &r, answer.Data, cancelLimits, telemetry.SubjectCancel); err != nil {
		return fail(err)
	}
	if r.Cancel.Batch != batch {
		return fail(errors.New("the answer is to another request"))
	}
	return r.Cancel.Found, int(r.Cancel.Slots), nil
}
