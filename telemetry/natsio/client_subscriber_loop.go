package natsio

import (
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"ringmaster/telemetry"
)

// subscriberLoop is the receiving goroutine of a subscriber.
type subscriberLoop struct {
	*Subscriber
	decoder telemetry.Decoder
	record  telemetry.Record
	held    []*nats.Msg // changes that came before the snapshot that they change
	waiting bool        // for a snapshot
	answer  *time.Timer // ends the wait
	expiry  *time.Timer
}

func (s *Subscriber) run(status <-chan nats.Status, closed <-chan struct{}) {
	defer close(s.ended)
	l := subscriberLoop{Subscriber: s, answer: time.NewTimer(0), expiry: time.NewTimer(0)}
	l.answer.Stop()
	l.expiry.Stop()
	defer l.answer.Stop()
	defer l.expiry.Stop()
	l.begin()
	for {
		select {
		case <-s.quit:
			return
		case <-closed:
			return
		case now := <-status:
			if now == nats.CONNECTED {
				l.begin()
			}
		case m := <-s.messages:
			l.receive(m)
		case <-l.answer.C:
			l.release()
		case <-l.expiry.C:
			l.change(func(f *follower) (Update, bool) { return f.expire(time.Now()) })
		}
	}
}

// begin asks for a snapshot and holds changes back until it is answered.
func (l *subscriberLoop) begin() {
	if l.ask() != nil {
		return // the next connection asks again
	}
	l.waiting = true
	l.answer.Reset(l.cfg.SnapshotWait)
}

// release handles what was held back.
func (l *subscriberLoop) release() {
	l.waiting = false
	l.answer.Stop()
	for i, m := range l.held {
		l.live(m)
		l.held[i] = nil
	}
	l.held = l.held[:0]
}

func (l *subscriberLoop) receive(m *nats.Msg) {
	switch {
	case m.Subject == l.inbox:
		l.snapshot(m)
		l.release()
	case l.waiting && len(l.held) < l.cfg.MaxMessages:
		l.held = append(l.held, m)
	default:
		if l.waiting {
			l.release()
		}
		l.live(m)
	}
}

// snapshot takes an answer. One that carries an error, as when nothing was
// decided yet or no runtime is there, says that changes are all there is.
func (l *subscriberLoop) snapshot(m *nats.Msg) {
	if len(m.Data) == 0 && (m.Header.Get("Status") != "" || m.Header.Get(micro.ErrorCodeHeader) != "") {
		return
	}
	if !l.decode(m, telemetry.SubjectSnapshot) {
		return
	}
	l.mu.Lock()
	l.stats.Snapshots++
	l.mu.Unlock()
	now := time.Now()
	l.change(func(f *follower) (Update, bool) {
		return f.snapshot(&l.record.Header, &l.record.Recommendation, now)
	})
}

func (l *subscriberLoop) live(m *nats.Msg) {
	if !l.decode(m, telemetry.SubjectRecommend) {
		return
	}
	now := time.Now()
	l.change(func(f *follower) (Update, bool) {
		return f.live(&l.record.Header, &l.record.Recommendation, now)
	})
}

func (l *subscriberLoop) decode(m *nats.Msg, class telemetry.SubjectClass) bool {
	err := decodeOne(&l.decoder, &l.record, m.Data, telemetry.DefaultTelemetryLimits, class)
	if err != nil {
		l.mu.Lock()
		l.stats.Malformed++
		l.mu.Unlock()
	}
	return err == nil
}

// change moves the follower on, keeps what came of it for Next and sets the
// time of expiry.
func (l *subscriberLoop) change(move func(*follower) (Update, bool)) {
	l.mu.Lock()
	u, ok := move(&l.follower)
	if ok {
		l.updates.put(u)
		if u.Event == EventDecision {
			l.stats.Decisions++
		}
	}
	latest := &l.follower.latest
	if latest.Valid {
		l.expiry.Reset(time.Until(latest.Until))
	} else {
		l.expiry.Stop()
	}
	l.mu.Unlock()
	if ok {
		signal(l.fetch)
	}
}
