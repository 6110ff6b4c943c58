package adapt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"ringmaster/cmd/runtime/adapt/fpm"
	"ringmaster/cmd/runtime/adapt/zmtp"
	"ringmaster/telemetry"
	"ringmaster/telemetry/complaint"
)

// Source is one publisher of ForwardPassMetrics.
type Source struct {
	Endpoint string        // of its PUB socket, as tcp://HOST:PORT
	Worker   string        // whose queues these are; empty: as the messages say
	Silent   time.Duration // without a message after which the connection is given up: it is down, or the process hangs
	Report   func(worker, queue string, q *telemetry.Queue) error
	Log      *slog.Logger

	stream fpm.Stream
	totals Totals
	waited fpm.Requests // after the last iteration
	asOf   time.Time    // when that came
	hangs  bool         // it was said that no iteration comes
	wrong  *complaint.Log
	dial   func(ctx context.Context, endpoint string) (*zmtp.Conn, error) // nil: zmtp.Dial
}

// Totals are what a source has had.
type Totals struct {
	fpm.Counts
	Ends     uint64 // connections that the publisher ended
	Silences uint64 // connections without a message for too long
	Failures uint64 // attempts to connect that failed
	Dropped  uint64 // records that could not be reported
}

// parseSource reads [WORKER=]ENDPOINT.
func parseSource(text string) (worker, endpoint string, err error) {
	worker, endpoint, named := strings.Cut(text, "=")
	if !named {
		worker, endpoint = "", text
	} else if !telemetry.ValidToken(worker) {
		return "", "", fmt.Errorf("worker %.80q: use 1 to 64 letters, digits, _ or -", worker)
	}
	_, _, err = zmtp.Address(endpoint)
	return worker, endpoint, err
}

// Pauses between attempts to connect.
const (
	shortestPause = 100 * time.Millisecond
	longestPause  = 2 * time.Second
)

// Run reads until the context ends, and returns what it has had.
func (s *Source) Run(ctx context.Context) Totals {
	if s.dial == nil {
		s.dial = zmtp.Dial
	}
	s.wrong = complaint.New(s.Log)
	for pause := shortestPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		conn, err := s.dial(ctx, s.Endpoint)
		if err != nil {
			if ctx.Err() == nil {
				s.totals.Failures++
				s.complain("an engine cannot be reached", err)
			}
		} else {
			s.Log.Info("reads an engine", "endpoint", s.Endpoint)
			if s.read(ctx, conn) {
				pause = shortestPause
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	s.totals.Counts = s.stream.Counts
	return s.totals
}

// read reads until the connection or the context ends, and says whether anything came.
func (s *Source) read(ctx context.Context, conn *zmtp.Conn) (came bool) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	for {
		frames, err := conn.Next(time.Now().Add(s.Silent))
		if ctx.Err() != nil {
			return came
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			s.totals.Silences++
			s.complain("an engine is silent: its depth is unknown", fmt.Errorf("no message for %v, not even a heartbeat", s.Silent))
			return came
		case err != nil:
			s.totals.Ends++
			s.complain("an engine has gone: its depth is unknown", err)
			return came
		}
		came = true
		s.take(frames, time.Now())
	}
}

// take takes a message that came at a time.
func (s *Source) take(frames [][]byte, now time.Time) {
	restarts := s.stream.Counts.Restarts
	m, err := s.stream.Take(frames)
	if s.stream.Counts.Restarts != restarts {
		s.waited, s.hangs = fpm.Requests{}, false
		s.Log.Warn("an engine has started again", "endpoint", s.Endpoint)
	}
	switch {
	case err != nil:
		s.complain("a message is not taken", err)
	case m == nil:
		s.heartbeat(now)
	default:
		s.waited, s.asOf, s.hangs = m.Queued, now, false
		if err := s.report(m); err != nil {
			s.totals.Dropped++
			s.complain("a record is not reported", err)
		}
	}
}

// heartbeat says so, once, if iterations have ended although requests waited.
func (s *Source) heartbeat(now time.Time) {
	if s.hangs || s.waited == (fpm.Requests{}) || now.Sub(s.asOf) < s.Silent {
		return
	}
	s.hangs = true
	s.Log.Warn("an engine sends heartbeats and no iterations, and requests waited after the last one: it hangs, or gave them up",
		"endpoint", s.Endpoint, "since", now.Sub(s.asOf).Round(time.Second), "prefill", s.waited.Prefill, "decode", s.waited.Decode)
}

// report reports how many requests wait, by what they need next.
func (s *Source) report(m *fpm.Metrics) error {
	worker := s.Worker
	if worker == "" {
		worker = m.WorkerID
	}
	if !telemetry.ValidToken(worker) {
		return fmt.Errorf("the engine calls itself %.80q, which is no name of a worker: give it one, as NAME=%s", worker, s.Endpoint)
	}
	for _, q := range []struct {
		name string
		n    uint32
	}{{"prefill", m.Queued.Prefill}, {"decode", m.Queued.Decode}} {
		record := telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: q.n}
		if err := s.Report(worker, fmt.Sprintf("dp%d-%s", m.Rank, q.name), &record); err != nil {
			return err
		}
	}
	return nil
}

// complain logs what is wrong, each thing once a minute.
func (s *Source) complain(what string, err error) {
	s.wrong.Warn(what, "", "", "endpoint", s.Endpoint, "error", err)
}
