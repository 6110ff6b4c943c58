package decided

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry/natsio"
)

// run keeps the stream and the policy's text in it.
func (s *Store) run(ctx context.Context) {
	pause := retryMin
	for {
		stream, err := s.open(ctx)
		if ctx.Err() != nil {
			return
		}
		s.settle(stream, err)
		wait := policyLifetime
		if err != nil {
			wait = pause
			pause = min(2*pause, retryMax)
		} else {
			pause = retryMin
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		case <-s.look:
			select { // what is lost again and again is not looked up all the time
			case <-ctx.Done():
				return
			case <-time.After(retryMin):
			}
		}
	}
}

// open finds or makes the stream and stores the policy's text, which shows that it takes messages.
func (s *Store) open(ctx context.Context) (jetstream.Stream, error) {
	if !s.conn.NATS().IsConnected() {
		return nil, natsio.ErrDisconnected
	}
	if err := s.conn.OldServer(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOldServer, err)
	}
	ctx, cancel := context.WithTimeout(ctx, lookup)
	defer cancel()
	want := streamConfig(s.conn.Subjects(), s.cfg.Bounds)
	if err := s.conn.OpenStream(ctx, want, func(stream *jetstream.StreamConfig) error {
		if err := fits(&want, stream); err != nil {
			return err
		}
		s.cfg.Bounds.on(stream)
		return nil
	}); noJetStream(err) {
		return nil, fmt.Errorf("%w: %w; start the server with -js, or enable it for the account", ErrNoJetStream, err)
	} else if err != nil {
		return nil, err
	}
	stream, err := s.conn.JetStream().Stream(ctx, s.name)
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", s.name, err)
	}
	m := nats.NewMsg(s.conn.Subjects().Policy(s.cfg.Policy))
	m.Data = s.cfg.PolicyText
	ack, err := s.conn.JetStream().PublishMsg(ctx, m, jetstream.WithExpectStream(s.name))
	if err != nil {
		return nil, fmt.Errorf("store the policy in stream %s: %w", s.name, err)
	}
	s.policyAt.Store(ack.Sequence)
	return stream, nil
}

// settle notes whether there is a stream, and says so when that changes.
func (s *Store) settle(stream jetstream.Stream, err error) {
	if err != nil {
		s.stream.Store(nil)
	} else {
		s.stream.Store(&stream)
		s.once.Do(func() { close(s.ready) })
	}
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	s.mu.Lock()
	was := s.stats.Problem
	s.stats.Problem = problem
	s.mu.Unlock()
	if was != problem && s.cfg.Changed != nil {
		s.cfg.Changed(err)
	}
	switch {
	case was == problem:
	case err == nil:
		s.cfg.Log.Info("decisions are stored", "stream", s.name)
		if tell := s.again.Load(); tell != nil {
			(*tell)()
		}
	case errors.Is(err, natsio.ErrDisconnected): // which is said once, by the connection
	default:
		s.complaints.Warn("decisions are not stored", "", "", "stream", s.name, "error", err)
	}
}

// lose has nothing sent until the stream was looked at again.
func (s *Store) lose(err error) {
	s.settle(nil, err)
	s.lookAgain()
}

func (s *Store) lookAgain() {
	select {
	case s.look <- struct{}{}:
	default: // it is on the way
	}
}
