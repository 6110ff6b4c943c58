package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"time"

	"ringmaster/cmd/runtime/demo"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// publishCmd publishes telemetry and announcements, and with --work the trace's work.
type publishCmd struct {
	natsFlags
	Worker string        `default:"${hostname}" help:"Worker that the telemetry is about."`
	Queue  string        `placeholder:"NAME" help:"Queue for lines from standard input that name none."`
	Source string        `arg:"" optional:"" enum:"trace,-" default:"-" help:"- reads JSON lines from standard input, one record per line, with the field names of the wire; a record of kind worker announces a device. trace replays the bundled trace."`
	Speed  float64       `default:"60" help:"Of the trace: seconds that are replayed per second."`
	Limit  time.Duration `placeholder:"DURATION" help:"Of the trace: stop at this moment instead of its end."`
	Work   bool          `help:"Of the trace: submit its work too; needs a worker with a device."`
	Array  bool          `help:"Of the trace: publish records as msgpack arrays instead of maps."`
}

func (c *publishCmd) Run(ctx context.Context, std stdio, log *slog.Logger) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	if !telemetry.ValidToken(c.Worker) {
		return fmt.Errorf("worker name %q: use 1 to 64 letters, digits, _ or -", c.Worker)
	}
	if err := checkSpeed(c.Speed); err != nil {
		return err
	}
	if c.Limit < 0 {
		return fmt.Errorf("--limit %v: want a moment of the trace", c.Limit)
	}
	conn, err := c.dial(ctx, "ringmaster publish", log)
	if err != nil {
		return err
	}
	defer conn.Close()
	if c.Source == "trace" {
		return c.trace(ctx, conn, std)
	}
	return c.lines(ctx, conn, std)
}

// checkSpeed refuses a --speed at which a trace cannot be replayed.
func checkSpeed(speed float64) error {
	if !(speed > 0) || math.IsInf(speed, 1) {
		return fmt.Errorf("--speed %v: want a number larger than 0", speed)
	}
	return nil
}

func (c *publishCmd) trace(ctx context.Context, conn *natsio.Conn, std stdio) error {
	cfg := demo.PlayerConfig{Worker: c.Worker, Speed: c.Speed, Limit: c.Limit, Submit: c.Work}
	if c.Array {
		cfg.Form = telemetry.FormArray
	}
	p, err := demo.NewPlayer(conn, cfg)
	if err != nil {
		return err
	}
	if err := p.Play(ctx); err != nil {
		return err
	}
	if err := flush(ctx, conn); err != nil {
		return err
	}
	records, unsent, batches := p.Sent()
	fmt.Fprintf(std.err, "published %s records and %s batches; %s records were not sent while NATS was away\n", grouped(records), grouped(batches), grouped(unsent))
	return nil
}

// lines publishes one record per line. A line that the runtime would refuse is
// reported with its number and not sent; the others are sent, and the exit code is 1.
func (c *publishCmd) lines(ctx context.Context, conn *natsio.Conn, std stdio) error {
	out := lineSender{cmd: c, conn: conn, incarnation: telemetry.NewIncarnation(), seq: map[string]uint64{}}
	scanner := bufio.NewScanner(interruptible(ctx, std.in))
	scanner.Buffer(nil, telemetry.DefaultTelemetryLimits.MaxBytes)
	bad, sent, number := 0, 0, 0
	for scanner.Scan() {
		number++
		line := bytes.TrimSpace(scanner.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := out.send(ctx, line); err != nil {
			fmt.Fprintf(std.err, "ringmaster: line %d: %v\n", number, err)
			bad++
			continue
		}
		sent++
	}
	err := scanner.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("line %d is longer than the %d bytes of a record", number+1, telemetry.DefaultTelemetryLimits.MaxBytes)
	}
	if err != nil {
		err = fmt.Errorf("standard input: %w", err)
	}
	if err := errors.Join(err, flush(context.WithoutCancel(ctx), conn)); err != nil { // what was sent before counts
		return err
	}
	fmt.Fprintf(std.err, "published %d records, refused %d lines\n", sent, bad)
	if bad > 0 {
		return exitError{1}
	}
	return nil
}

// lineSender turns lines into records of one incarnation.
type lineSender struct {
	cmd         *publishCmd
	conn        *natsio.Conn
	incarnation uint64
	seq         map[string]uint64 // of records published, by subject
	decoder     telemetry.Decoder
	record      telemetry.Record
}

func (s *lineSender) send(ctx context.Context, line []byte) error {
	// The line's subject, and so its number, is known only once it has been read:
	// number it provisionally now, and again before it is sent.
	h := telemetry.Header{Incarnation: s.incarnation, Seq: 1, SentNs: time.Now().UnixNano()}
	payload, err := telemetry.AppendJSON(nil, &h, line)
	if err != nil {
		return err
	}
	if err := s.check(payload); err != nil {
		return err
	}
	subject, publish, err := s.route()
	if err != nil {
		return err
	}
	h.Seq = s.seq[subject] + 1
	if payload, err = telemetry.AppendJSON(payload[:0], &h, line); err != nil {
		return err
	}
	if err := publish(payload); err != nil {
		return err
	}
	s.seq[subject]++
	if s.record.Kind == telemetry.KindWorker {
		// The runtime reads each subject independently, and decides again when limits
		// come late. The lead of one round trip mostly avoids the first, empty decision.
		return flush(ctx, s.conn)
	}
	return nil
}

// route says where the record that was checked goes, and how.
func (s *lineSender) route() (subject string, publish func(payload []byte) error, err error) {
	worker, queue := s.cmd.Worker, s.record.Header.Queue
	if s.record.Kind == telemetry.KindWorker {
		return s.conn.Subjects().Worker(worker), func(payload []byte) error {
			return s.conn.PublishAnnouncement(worker, payload)
		}, nil
	}
	if queue == "" {
		queue = s.cmd.Queue
	}
	if queue == "" {
		return "", nil, fmt.Errorf("the record names no queue, and --queue gives none")
	}
	return s.conn.Subjects().Telemetry(worker, queue), func(payload []byte) error {
		return s.conn.PublishTelemetry(worker, queue, payload)
	}, nil
}

// check judges a record as the runtime would.
func (s *lineSender) check(payload []byte) error {
	if _, err := telemetry.Check(payload, telemetry.DefaultTelemetryLimits); err != nil {
		return err
	}
	s.decoder.Reset(payload)
	err := s.decoder.Next(&s.record)
	if err == io.EOF {
		return fmt.Errorf("no record")
	}
	if kind := s.record.Kind; err == nil && !telemetry.SubjectTelemetry.Carries(kind) && !telemetry.SubjectWorker.Carries(kind) {
		return fmt.Errorf("a %v record is not for publishers; queue, graph, priority, launch and worker are", kind)
	}
	return err
}

// flush waits until the server has everything that was published.
func flush(ctx context.Context, conn *natsio.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	return conn.Flush(ctx)
}
