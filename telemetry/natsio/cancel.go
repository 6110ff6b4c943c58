package natsio

import (
	"context"
	"errors"
	"fmt"
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

// Bounds of the requests to one worker. Above them requests are answered with code 429.
const (
	cancelsPerSecond = 2000
	cancelsAtOnce    = 4000
)

// cancelLimits fits one cancel record.
var cancelLimits = telemetry.CheckLimits{MaxBytes: 1024, MaxRecords: 1, MaxItems: 64, MaxString: 256, MaxDepth: 8}

const codeTooMany = "429"

// CancelService answers requests to withdraw batches of one worker.
type CancelService struct {
	responder
	handler CancelHandler
	limit   *rate.Limiter
}

// ServeCancel answers requests on the worker's cancel subjects until Stop. A
// request without an inbox to answer to is not carried out.
func (c *Conn) ServeCancel(worker string, handler CancelHandler) (*CancelService, error) {
	s := &CancelService{handler: handler, limit: rate.NewLimiter(cancelsPerSecond, cancelsAtOnce)}
	s.class, s.limits, s.carry = telemetry.SubjectCancel, cancelLimits, s.carryOut
	s.admit = func() error {
		if !s.limit.AllowN(time.Now(), 1) {
			return fmt.Errorf("more than %d requests a second; ask again later", cancelsPerSecond)
		}
		return nil
	}
	if err := s.serve(c, worker, c.cfg.Subjects.Cancel(worker, "*")); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *CancelService) carryOut(worker, queue, reply string) {
	batch := s.record.Cancel.Batch
	s.handler(worker, queue, batch, func(found telemetry.CancelFound, slots int, err error) {
		if err != nil {
			s.refuse(reply, codeUnavailable, err)
			return
		}
		h := s.header()
		answer := telemetry.Cancel{Batch: batch, Found: found, Slots: uint32(slots)}
		s.respond(reply, telemetry.AppendCancel(nil, s.conn.cfg.Form, &h, &answer))
	})
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
