package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

const (
	// payloadRecords bounds the records of a payload. The longest record, a launch
	// report, is 90 values, so that these stay below the receiver's bound on values.
	payloadRecords = 256
	// retryPause is the time between two attempts to write what could not be written.
	retryPause = 100 * time.Millisecond
)

// run writes what is due until the publisher or the connection is closed.
func (p *Publisher) run(status <-chan nats.Status) {
	defer close(p.ended)
	var announce <-chan time.Time
	if p.cfg.AnnounceEvery > 0 {
		ticker := time.NewTicker(p.cfg.AnnounceEvery)
		defer ticker.Stop()
		announce = ticker.C
	}
	linger, lingers := time.NewTimer(time.Hour), false
	linger.Stop()
	defer linger.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-p.conn.Closed():
			return
		case <-p.wake:
			if !lingers { // once for each wait, else steady reports would put it off for ever
				lingers = true
				linger.Reset(p.cfg.Linger)
			}
			continue
		case <-announce:
			p.dueAgain(func(r *pending) bool { return r.kind == telemetry.KindWorker })
		case <-linger.C:
		case <-p.urgent:
		case <-status:
		}
		lingers = !p.write()
		if lingers {
			linger.Reset(retryPause)
		}
	}
}

func (p *Publisher) dueAgain(which func(*pending) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.kept {
		if which(r) {
			p.mark(r)
		}
	}
}

// write sends everything that is due, and reports false if that failed on a connection
// that is there.
func (p *Publisher) write() bool {
	for p.conn.NATS().IsConnected() {
		payload, records := p.next()
		if len(records) == 0 {
			return true
		}
		err := p.conn.PublishRequest(records[0].subject, p.inbox, payload)
		p.mu.Lock()
		switch {
		case err == nil:
			p.stats.Payloads++
			p.stats.Sent += uint64(len(records))
		case errors.Is(err, nats.ErrMaxPayload) && len(records) == 1: // it will never fit
			p.stats.Dropped++
			p.err = err
		default:
			p.putBack(records)
			p.mu.Unlock()
			return false
		}
		p.mu.Unlock()
	}
	return true
}

// next takes what goes on one subject, launch reports first. If
// nothing is due it tells those who wait for that.
func (p *Publisher) next() (payload []byte, records []*pending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if session := p.conn.Session(); session != p.session {
		p.session, p.err = session, nil
		for _, r := range p.kept {
			p.mark(r)
		}
	}
	full, limit := false, min(p.cfg.MaxPayload, int(p.conn.NATS().MaxPayload()))
	take := func(list []*pending, queues bool) []*pending {
		return slices.DeleteFunc(list, func(r *pending) bool {
			if full || (r.kind == telemetry.KindQueue) != queues || len(records) > 0 && r.subject != records[0].subject {
				return false
			}
			longer := p.append(payload, r)
			if len(records) > 0 && len(longer) > limit {
				full = true // and stays so, else a shorter record would overtake
				return false
			}
			full = len(records)+1 == payloadRecords
			r.due = false
			payload, records = longer, append(records, r)
			return true
		})
	}
	p.launches = take(p.launches, false)
	p.due = take(p.due, false)
	p.due = take(p.due, true) // last, because a queue record has the runtime decide
	if len(records) == 0 {
		for _, written := range p.flushing {
			close(written)
		}
		p.flushing = nil
	}
	return payload, records
}

// append encodes a record with the next number of its subject.
func (p *Publisher) append(payload []byte, r *pending) []byte {
	h := p.conn.Header(r.subject)
	h.SentNs = r.at
	if r.kind != telemetry.KindWorker && !p.cfg.PerQueue {
		h.Queue = r.queue
	}
	return r.encode(payload, &h)
}

// putBack makes records due that could not be written.
func (p *Publisher) putBack(records []*pending) {
	var launches []*pending
	for _, r := range records {
		if r.kind == telemetry.KindLaunch {
			launches = append(launches, r)
		} else if p.kept[r.key] == r {
			p.mark(r)
		}
	}
	p.launches = slices.Concat(launches, p.launches)
}

// Flush returns nil once the server has everything that was reported before. Without a
// server it waits for one until ctx ends. The error wraps natsio.ErrNotPermitted if the
// server did not take all of it.
func (p *Publisher) Flush(ctx context.Context) error {
	_, before := p.conn.Denied()
	for {
		session := p.conn.Session()
		written := make(chan struct{})
		p.mu.Lock()
		p.flushing = append(p.flushing, written)
		p.mu.Unlock()
		signal(p.urgent)
		select {
		case <-written:
		case <-p.ended:
			return p.unsent(natsio.ErrClosed)
		case <-ctx.Done():
			return p.unsent(ctx.Err())
		}
		// Only a round trip on the connection that was written to proves anything.
		err := p.conn.Flush(ctx)
		if err == nil && p.conn.Session() == session {
			subject, now := p.conn.Denied()
			p.mu.Lock()
			defer p.mu.Unlock()
			if now != before && p.subjects[subject] {
				return now
			}
			return nil
		}
		if ctx.Err() != nil {
			return p.unsent(ctx.Err())
		}
	}
}

func (p *Publisher) unsent(why error) error {
	return fmt.Errorf("publisher: %d records wait: %w", p.Stats().Waiting, why)
}

// Close takes no more reports, sends what is due and returns when the server has it, or
// with why it has not. The publisher has ended in any case.
func (p *Publisher) Close(ctx context.Context) error {
	p.mu.Lock()
	again := p.closed
	p.closed = true
	p.mu.Unlock()
	if again {
		<-p.ended
		return nil
	}
	err := p.Flush(ctx)
	close(p.quit)
	<-p.ended
	p.detach()
	return err
}
