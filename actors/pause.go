package actors

import (
	"sync"
	"time"
)

// pauseTick is how often pauses are looked at. A pause ends at the first look after
// it is over, or at which no record at all has come since the look before: after a
// flood nothing is gained by waiting.
const pauseTick = 2 * time.Millisecond

// pauses are the pauses of all paced queues of a system, with one timer for all.
// Their decisions then follow one another, which makes each cheaper.
type pauses struct {
	mu      sync.Mutex
	resting []resting
	armed   bool // look runs or will
	timer   *time.Timer

	seen uint64    // System.payloads at the last look; of look
	over []*family // of look
}

// resting is a queue whose next decision waits.
type resting struct {
	family *family
	until  time.Time
}

// decideLater sends the next wake after a pause. If the queue is parked, stopped or
// gone by then, the wake is treated like any other.
func (s *System) decideLater(f *family, pause time.Duration) {
	p := &s.pauses
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resting = append(p.resting, resting{f, time.Now().Add(pause)})
	if p.armed {
		return
	}
	p.armed = true
	if p.timer == nil {
		p.timer = time.AfterFunc(pauseTick, s.look)
		return
	}
	p.timer.Reset(pauseTick)
}

// look ends pauses.
func (s *System) look() {
	p := &s.pauses
	seen := s.payloads.Load()
	p.mu.Lock()
	p.end(time.Now(), seen == p.seen)
	p.seen = seen
	p.mu.Unlock()
	for _, f := range p.over {
		f.dispatch(f.cell.paceOver())
	}
	clear(p.over)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.armed = len(p.resting) > 0; p.armed {
		p.timer.Reset(pauseTick)
	}
}

// end moves what is over from resting to over; p.mu is held.
func (p *pauses) end(now time.Time, all bool) {
	p.over = p.over[:0]
	still := p.resting[:0]
	for _, r := range p.resting {
		if all || !now.Before(r.until) {
			p.over = append(p.over, r.family)
		} else {
			still = append(still, r)
		}
	}
	clear(p.resting[len(still):])
	p.resting = still
}
