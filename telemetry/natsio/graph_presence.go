package natsio

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ringmaster/telemetry"
)

// ErrWorkerGone says that the worker that took a request ended before it answered: nobody will.
var ErrWorkerGone = errors.New("the worker ended before it answered")

// While a requester waits, it asks ever less often whether its worker is still there. One that
// nobody has heard of for absence is gone; a connection that came back would be there by then.
const (
	firstLook = 250 * time.Millisecond
	lastLook  = 2 * time.Second
	absence   = 10 * time.Second
)

// presence is what a requester knows of its worker.
type presence struct {
	incarnation uint64    // that answered first; 0: none has
	unheard     time.Time // since when nobody could answer; zero: somebody can
}

// saw takes what came of asking the worker of which incarnation it is, at a time. The
// error says that it is gone.
func (p *presence) saw(now time.Time, incarnation uint64, err error) error {
	switch {
	case err == nil && p.incarnation == 0:
		p.incarnation = incarnation
	case err == nil && p.incarnation != incarnation:
		return fmt.Errorf("%w: another start of it answers now", ErrWorkerGone)
	}
	switch {
	case !errors.Is(err, ErrNoRuntime) && !errors.Is(err, ErrDisconnected):
		p.unheard = time.Time{} // it is slow, at worst
	case p.unheard.IsZero():
		p.unheard = now
	case now.Sub(p.unheard) >= absence:
		return fmt.Errorf("%w: unheard of for %v: %w", ErrWorkerGone, absence, err)
	}
	return nil
}

// attend makes a context that ends with ErrWorkerGone when the worker of a queue's graphs has gone.
func (c *Conn) attend(ctx context.Context, worker, queue string) (attended context.Context, done func()) {
	attended, end := context.WithCancelCause(ctx)
	go func() {
		var p presence
		for pause := firstLook; ; pause = min(2*pause, lastLook) {
			select {
			case <-attended.Done():
				return
			case <-time.After(pause):
			}
			incarnation, err := c.incarnationOf(attended, worker, queue)
			if gone := p.saw(time.Now(), incarnation, err); gone != nil {
				end(gone)
				return
			}
		}
	}()
	return attended, func() { end(nil) }
}

// incarnationOf asks a worker of which incarnation it is.
func (c *Conn) incarnationOf(ctx context.Context, worker, queue string) (uint64, error) {
	if !c.nc.IsConnected() {
		return 0, ErrDisconnected
	}
	ctx, cancel := context.WithTimeout(ctx, lastLook)
	defer cancel()
	answer, err := c.askGraphs(ctx, worker, queue, &telemetry.Resident{Ask: telemetry.ResidentList})
	if err != nil {
		return 0, err
	}
	return answer.Incarnation, nil
}
