package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"ringmaster/cmd/runtime/audit"
	"ringmaster/telemetry/decisionlog"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/decided"
)

// stream is the stream of decisions as it was read so far.
type stream struct {
	conn    *natsio.Conn
	ctx     context.Context // of one reading
	checker audit.Checker
	newest  uint64 // sequence of the last message that was read
}

func follow(conn *natsio.Conn) *stream {
	s := &stream{conn: conn}
	s.checker.Removed = func(worker, queue string, sequence uint64) (bool, error) {
		return decided.Removed(s.ctx, conn, worker, queue, sequence)
	}
	return s
}

// read checks what has come since the last call: each queue's decisions follow each other, none is there twice, and
// inputs never go back. It returns how many decisions came, and how many of them are not so.
func (s *stream) read() (decisions, holes int, err error) {
	var end func()
	s.ctx, end = context.WithTimeout(context.Background(), 5*time.Minute)
	defer end()
	before := s.checker.Report()
	err = decided.Read(s.ctx, s.conn, func(m decided.Message) error {
		if m.Sequence <= s.newest {
			return nil
		}
		s.newest = m.Sequence
		if m.Err != nil {
			return m.Err
		}
		d, err := decisionlog.DecodeDecided(m.Stored.Recommendation.Decided)
		if err != nil {
			return err
		}
		return s.checker.Take(m.Sequence, d)
	})
	after := s.checker.Report()
	return after.Decisions - before.Decisions, after.HoleCount - before.HoleCount, err
}

// finish reads the rest, prints what the whole stream shows, and fails if it is not what it has to be.
func (s *stream) finish(l *load) error {
	_, _, err := s.read()
	report := s.checker.Report()
	stale := 0
	for _, q := range l.queues {
		q.mu.Lock()
		stale += q.stale
		q.mu.Unlock()
	}
	report.Print(os.Stdout, func(s string) string { return s })
	fmt.Printf("%d recommendations came late or twice, %d records were not sent\n", stale, l.unsent.Load())
	if err == nil && report.HoleCount > 0 {
		err = errors.New("the stream is not what it has to be")
	}
	return err
}
