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
	"strings"
	"time"

	"ringmaster/cmd/runtime/adapt"
	"ringmaster/cmd/runtime/demo"
	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// adaptCmd publishes for engines that have telemetry of their own.
type adaptCmd = adapt.Command

// publishCmd publishes telemetry and announcements, and with --work the trace's work.
type publishCmd struct {
	option.NATS
	Worker string        `default:"${hostname}" help:"Worker that the telemetry is about."`
	Queue  string        `placeholder:"NAME" help:"Queue for lines from standard input that name none."`
	Source string        `arg:"" optional:"" enum:"trace,-" default:"-" help:"- reads JSON lines from standard input, one record per line, with the field names of the wire; a record of kind worker announces a device. trace replays the bundled trace."`
	Speed  float64       `default:"60" help:"Of the trace: seconds that are replayed per second."`
	Limit  time.Duration `placeholder:"DURATION" help:"Of the trace: stop at this moment instead of its end."`
	Work   bool          `help:"Of the trace: submit its work too; needs a worker with a device."`

	TakeOver bool `help:"Of lines: report the queues although another publisher does, which is then refused."`
}

func (c *publishCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	ctx, stop := terminal.UntilSignal(ctx)
	defer stop()
	if !telemetry.ValidToken(c.Worker) {
		return fmt.Errorf("worker name %q: use 1 to 64 letters, digits, _ or -", c.Worker)
	}
	if err := checkTrace(c.Speed, c.Limit); err != nil {
		return err
	}
	return c.With(ctx, "ringmaster publish", log, func(ctx context.Context, conn *natsio.Conn) error {
		if c.Source == "trace" {
			return c.trace(ctx, conn, std)
		}
		return c.lines(ctx, conn, std)
	})
}

// checkTrace refuses a speed at which a trace cannot be replayed, and a moment that none has.
func checkTrace(speed float64, limit time.Duration) error {
	switch {
	case !(speed > 0) || math.IsInf(speed, 1):
		return fmt.Errorf("--speed %v: want a number larger than 0", speed)
	case limit < 0:
		return fmt.Errorf("--limit %v: want a moment of the trace", limit)
	}
	return nil
}

func (c *publishCmd) trace(ctx context.Context, conn *natsio.Conn, std terminal.Stdio) error {
	cfg := demo.PlayerConfig{Worker: c.Worker, Speed: c.Speed, Limit: c.Limit, Submit: c.Work}
	p, err := demo.NewPlayer(conn, cfg)
	if err != nil {
		return err
	}
	if err := p.Play(ctx); err != nil {
		return err
	}
	records, batches := p.Sent()
	fmt.Fprintf(std.Err, "published %s records and %s batches\n", text.Grouped(records), text.Grouped(batches))
	return nil
}

// lines publishes one record per line. A line that the runtime would refuse is
// reported with its number and not sent; the others are sent. The exit code is 1 if
// a line was not sent or not taken.
func (c *publishCmd) lines(ctx context.Context, conn *natsio.Conn, std terminal.Stdio) error {
	l := lineSender{cmd: c, err: std.Err, incarnation: conn.Incarnation(), answers: make(chan error, 1<<16)}
	cfg := client.PublisherConfig{PerQueue: true, TakeOver: c.TakeOver, OnAnswer: func(err error) {
		select {
		case l.answers <- err:
		default: // enough are told
		}
	}}
	var err error
	if l.publisher, err = client.NewPublisher(conn, cfg); err != nil {
		return err
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	defer l.publisher.Close(ended) // every line was flushed
	scanner := bufio.NewScanner(terminal.Interruptible(ctx, std.In))
	scanner.Buffer(nil, telemetry.DefaultTelemetryLimits.MaxBytes)
	for scanner.Scan() {
		l.number++
		if line := bytes.TrimSpace(scanner.Bytes()); len(line) > 0 {
			l.count(l.send(line))
		}
		l.told()
	}
	err = scanner.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("line %d is longer than the %d bytes of a record", l.number+1, telemetry.DefaultTelemetryLimits.MaxBytes)
	}
	if err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	l.wait()
	fmt.Fprintf(std.Err, "published %s, refused %s\n", text.Plural(uint64(l.sent-l.refused), "record"), text.Plural(uint64(l.bad+l.refused), "line"))
	if l.bad+l.refused > 0 {
		return terminal.ExitCode(1)
	}
	return nil
}

// lineSender turns lines into records.
type lineSender struct {
	cmd         *publishCmd
	err         io.Writer
	incarnation uint64
	publisher   *client.Publisher
	decoder     telemetry.Decoder
	record      telemetry.Record

	number, sent, bad int // lines read, sent, and not sent
	asked             int // lines sent that have the runtime decide, and answer
	answers           chan error
	answered, refused int
}

// answerPatience is how long publish waits for what the runtime says to its last lines.
const answerPatience = 300 * time.Millisecond

// wait waits until the lines that are answered have been.
func (l *lineSender) wait() {
	patience := time.After(answerPatience)
	for l.sent > 0 && (l.answered < l.asked || l.asked == 0) {
		select {
		case err := <-l.answers:
			l.answer(err)
		case <-patience:
			return
		}
	}
}

// told handles the answers that are there.
func (l *lineSender) told() {
	for {
		select {
		case err := <-l.answers:
			l.answer(err)
		default:
			return
		}
	}
}

func (l *lineSender) answer(err error) {
	l.answered++
	if err != nil {
		l.refused++
		fmt.Fprintf(l.err, "ringmaster: the runtime did not take a record: %s\n", text.Plain(err.Error()))
	}
}

func (l *lineSender) count(err error) {
	if err == nil {
		l.sent++
		return
	}
	l.bad++
	fmt.Fprintf(l.err, "ringmaster: line %d: %s\n", l.number, text.PlainLines(faultOf(err)))
}

// faultOf is what is wrong with the record of a line: its kind, the field, and why. A line has one record.
func faultOf(err error) string {
	var fault *telemetry.RecordError
	if !errors.As(err, &fault) {
		return err.Error()
	}
	if fault.Field == "kind" {
		return "the field kind has to be queue, graph, priority, launch or worker"
	}
	var words []string
	if fault.Kind != telemetry.KindInvalid {
		words = append(words, fault.Kind.String()+" record")
	}
	if fault.Field != "" {
		words = append(words, fault.Field)
	}
	if fault.Err == nil {
		return strings.Join(append(words, fault.Reason), ": ")
	}
	return strings.Join(append(words, fault.Err.Error()), ": ")
}

// send reports a line's record and waits until the server has it: the next line may
// depend on it, and what is not permitted is then known.
func (l *lineSender) send(line []byte) error {
	if err := l.parse(line); err != nil {
		return err
	}
	queue := l.record.Header.Queue
	if queue == "" {
		queue = l.cmd.Queue
	}
	if queue == "" && l.record.Kind != telemetry.KindWorker {
		return errors.New("the record names no queue, and --queue gives none")
	}
	if err := l.publisher.Report(l.cmd.Worker, queue, &l.record); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), option.DialPatience)
	defer cancel()
	if err := l.publisher.Flush(ctx); err != nil {
		return fmt.Errorf("not published: %w", err)
	}
	if l.record.Kind == telemetry.KindQueue || l.record.Kind == telemetry.KindGraph {
		l.asked++
	}
	return nil
}

// parse reads a line into the record, and judges it as the runtime would.
func (l *lineSender) parse(line []byte) error {
	h := telemetry.Header{Incarnation: l.incarnation, Seq: 1, SentNs: time.Now().UnixNano()}
	payload, err := telemetry.AppendJSON(nil, &h, line)
	if err != nil {
		return err
	}
	if _, err := telemetry.Check(payload, telemetry.DefaultTelemetryLimits); err != nil {
		return err
	}
	l.decoder.Reset(payload)
	switch err := l.decoder.Next(&l.record); {
	case errors.Is(err, io.EOF):
		return errors.New("no record")
	case err != nil:
		return err
	}
	if unknown := telemetry.UnknownFields(line); len(unknown) > 0 {
		return fmt.Errorf("%v records have no field %q; there are %s",
			l.record.Kind, unknown[0], strings.Join(telemetry.FieldNames(l.record.Kind), ", "))
	}
	return nil
}
