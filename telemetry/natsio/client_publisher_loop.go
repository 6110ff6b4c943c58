package natsio

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go"
)

// retryPause is how long the loop waits after a payload could not be written,
// unless the connection says earlier that it is back.
const retryPause = 100 * time.Millisecond

// publisherLoop is the writing goroutine of a publisher.
type publisherLoop struct {
	*Publisher
	status   <-chan nats.Status
	announce <-chan time.Time
	session  uint64 // that the state was last told to
	blocked  bool   // something is due and could not be written
	parcel   parcel
}

// await returns when there may be something to write, or false at the end.
func (w *publisherLoop) await() bool {
	var retry <-chan time.Time
	if w.blocked {
		timer := time.NewTimer(retryPause)
		defer timer.Stop()
		retry = timer.C
	}
	select {
	case <-w.quit:
		return false
	case <-w.link.Closed():
		return false
	case <-w.urgent:
	case <-w.status:
	case <-retry:
	case <-w.announce:
		w.mu.Lock()
		w.slate.announceAgain()
		w.mu.Unlock()
	case <-w.wake:
		return w.linger()
	}
	return true
}

// linger waits for company.
func (w *publisherLoop) linger() bool {
	if w.cfg.Linger == 0 {
		return true
	}
	timer := time.NewTimer(w.cfg.Linger)
	defer timer.Stop()
	select {
	case <-w.quit:
		return false
	case <-w.link.Closed():
		return false
	case <-w.urgent:
	case <-timer.C:
	}
	return true
}

// deliver writes until nothing is due.
func (w *publisherLoop) deliver() {
	for {
		if w.link.state() != StateConnected {
			w.blocked = w.Stats().Waiting > 0
			return
		}
		if !w.next() {
			w.blocked = false
			return
		}
		err := w.link.publish(w.parcel.to.subject, w.parcel.payload)
		w.settle(err)
		if err != nil && !errors.Is(err, nats.ErrMaxPayload) {
			w.blocked = true
			return
		}
	}
}

// next fills the parcel, or tells those who wait for it that nothing is due.
func (w *publisherLoop) next() bool {
	session, limit := w.link.session(), min(w.cfg.MaxPayload, w.link.room())
	w.mu.Lock()
	defer w.mu.Unlock()
	if session != w.session {
		w.session = session
		w.slate.refresh()
		w.err = nil
	}
	if w.slate.next(&w.parcel, limit) {
		return true
	}
	for _, written := range w.flushing {
		close(written)
	}
	w.flushing = w.flushing[:0]
	return false
}

// settle takes note of what became of the parcel.
func (w *publisherLoop) settle(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.slate.sent(&w.parcel)
		w.stats.Payloads++
		w.stats.Sent += uint64(w.parcel.records)
	case errors.Is(err, nats.ErrMaxPayload) && w.parcel.records == 1: // it will never fit
		w.slate.sent(&w.parcel)
		w.stats.Dropped++
		w.err = err
	default:
		w.slate.restore(&w.parcel)
	}
}
