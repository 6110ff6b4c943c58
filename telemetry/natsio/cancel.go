package natsio

import (
	"fmt"
	"time"

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

// CancelLimits fit one cancel record.
var CancelLimits = telemetry.CheckLimits{MaxBytes: 1024, MaxRecords: 1, MaxItems: 64, MaxString: 256, MaxDepth: 8}

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
	s.class, s.limits, s.carry = telemetry.SubjectCancel, CancelLimits, s.carryOut
	s.admit = func() error {
		if !s.limit.AllowN(time.Now(), 1) {
			return fmt.Errorf("%w: more than %d a second; ask again later", ErrTooMany, cancelsPerSecond)
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
			s.refuse(reply, err)
			return
		}
		h := s.header()
		answer := telemetry.Cancel{Batch: batch, Found: found, Slots: uint32(slots)}
		s.respond(reply, telemetry.AppendCancel(nil, s.conn.cfg.Form, &h, &answer))
	})
}
