package natsio

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"ringmaster/telemetry"
)

// codes are how a request is refused: in the header that NATS services use for it,
// without a record. A code means one error of the request's class, and back.
var codes = []struct {
	class telemetry.SubjectClass
	code  string
	err   error
}{
	{telemetry.SubjectSnapshot, "404", ErrNoRecommendation},
	{telemetry.SubjectHeap, "404", ErrNoWindow},
	{telemetry.SubjectHeap, "416", ErrOutsideWindow},
	{telemetry.SubjectGraph, "404", ErrNoGraph},
	{telemetry.SubjectGraph, "413", ErrGraphTooLarge},
	{telemetry.SubjectGraph, "400", ErrGraphRequest},
	{telemetry.SubjectGraph, "429", ErrGraphBusy},
	{telemetry.SubjectInvalid, "400", ErrRequest}, // of every class, as those below
	{telemetry.SubjectInvalid, "409", ErrRefused},
	{telemetry.SubjectInvalid, "413", ErrTooLarge},
	{telemetry.SubjectInvalid, "429", ErrTooMany},
}

// codeUnavailable stands for every other error.
const codeUnavailable = "503"

func codeOf(class telemetry.SubjectClass, err error) string {
	for _, c := range codes {
		if (c.class == class || c.class == telemetry.SubjectInvalid) && errors.Is(err, c.err) {
			return c.code
		}
	}
	return codeUnavailable
}

// errorOf is the error that an answer without a record stands for.
func errorOf(class telemetry.SubjectClass, code, description string) error {
	for _, c := range codes {
		if (c.class == class || c.class == telemetry.SubjectInvalid) && code == c.code {
			return &answered{description, c.err}
		}
	}
	return fmt.Errorf("code %s: %s", code, description)
}

// answered is an error of the other side, in its words.
type answered struct {
	text string
	is   error
}

func (e *answered) Error() string {
	if e.text == "" || strings.Contains(e.text, e.is.Error()) {
		return e.text
	}
	return e.is.Error() + ": " + e.text
}
func (e *answered) Unwrap() error { return e.is }

// Request asks with one record, the first of its own sequence; see Ask.
func (c *Conn) Request(ctx context.Context, subject string, body telemetry.Body, limits telemetry.CheckLimits, class telemetry.SubjectClass) (*telemetry.Record, error) {
	return c.Ask(ctx, subject, telemetry.Append(nil, c.cfg.Encoding, c.newHeader(1), body), limits, class)
}

// Ask sends a payload and returns the record that answers it, which is of a kind that
// belongs on subjects of the class. The error wraps ErrNoRuntime if nobody listens,
// ErrNotPermitted, what the answer says, or ctx's error.
func (c *Conn) Ask(ctx context.Context, subject string, payload []byte, limits telemetry.CheckLimits, class telemetry.SubjectClass) (*telemetry.Record, error) {
	ctx, cancel := c.Needs(ctx, subject)
	defer cancel()
	answer, err := c.nc.RequestWithContext(ctx, subject, payload)
	if err != nil {
		return nil, c.unanswered(context.Cause(ctx), err)
	}
	if err := AnswerError(class, answer); err != nil {
		return nil, err
	}
	var d telemetry.Decoder
	r := new(telemetry.Record)
	if err := decodeOne(&d, r, answer.Data, limits, class); err != nil {
		return nil, err
	}
	return r, nil
}

// AskService asks an endpoint of a runtime's service, with nothing, and returns its answer. The error is that of Ask.
func (c *Conn) AskService(ctx context.Context, endpoint string) ([]byte, error) {
	subject := c.prefix() + "." + endpoint
	ctx, cancel := c.Needs(ctx, subject)
	defer cancel()
	answer, err := c.nc.RequestWithContext(ctx, subject, nil)
	if err != nil {
		return nil, c.unanswered(context.Cause(ctx), err)
	}
	return answer.Data, AnswerError(telemetry.SubjectSnapshot, answer)
}

// othersPatience is how long RequestAll waits for another answer.
const othersPatience = 250 * time.Millisecond

// RequestAll asks everybody who listens with one record, and tells of each answer until use returns true or no other
// has come for a while. An answer that is an error is passed over if there is a better one. The error is that of Ask,
// with no answer at all.
func (c *Conn) RequestAll(ctx context.Context, subject string, body telemetry.Body, limits telemetry.CheckLimits, class telemetry.SubjectClass, use func(*telemetry.Record) (enough bool)) error {
	ctx, cancel := c.Needs(ctx, subject)
	defer cancel()
	inbox := c.nc.NewInbox()
	answers, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	defer answers.Unsubscribe() // fails only with the connection
	if err := c.PublishRequest(subject, inbox, telemetry.Append(nil, c.cfg.Encoding, c.newHeader(1), body)); err != nil {
		return err
	}
	m, err := answers.NextMsgWithContext(ctx)
	if err != nil {
		return c.unanswered(context.Cause(ctx), err)
	}
	var refused error
	used := false
	for err == nil {
		var d telemetry.Decoder
		r := new(telemetry.Record)
		why := AnswerError(class, m)
		if why == nil {
			why = decodeOne(&d, r, m.Data, limits, class)
		}
		if why != nil {
			refused = why
		} else if used = true; use(r) {
			return nil
		}
		m, err = answers.NextMsg(othersPatience)
	}
	if used {
		return nil
	}
	return refused
}

// unanswered is why there is no answer to a request, of the client library's error and the cause of
// the context's end.
func (c *Conn) unanswered(cause, err error) error {
	inbox := c.Inbox()
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return ErrNoRuntime
	case errors.Is(cause, ErrNotPermitted):
		return cause
	case errors.Is(err, nats.ErrConnectionClosed) && !c.nc.IsClosed(): // it goes to another server
		return ErrUnconfirmed
	case errors.Is(err, context.DeadlineExceeded) && !strings.HasPrefix(inbox+".", usualInbox+"."):
		return fmt.Errorf("%w; inboxes here begin with %s, which a runtime answers only if it was started with --reply-prefix %s", err, inbox, inbox)
	}
	return err
}

// AnswerError is the error that an answer without a record carries, to a request of a
// class, or nil.
func AnswerError(class telemetry.SubjectClass, m *nats.Msg) error {
	if code := m.Header.Get(micro.ErrorCodeHeader); code != "" {
		return errorOf(class, code, m.Header.Get(micro.ErrorHeader))
	}
	return nil
}

// refuse answers a request with an error. If that is lost the requester times out.
func (c *Conn) refuse(reply string, class telemetry.SubjectClass, err error) {
	m := nats.NewMsg(reply)
	m.Header.Set(micro.ErrorCodeHeader, codeOf(class, err))
	m.Header.Set(micro.ErrorHeader, clip(err.Error(), telemetry.MaxDetail))
	_ = c.nc.PublishMsg(m)
}

// decodeOne reads a payload that holds exactly one record of a kind that
// belongs on subjects of the class.
func decodeOne(d *telemetry.Decoder, r *telemetry.Record, payload []byte,
	limits telemetry.CheckLimits, class telemetry.SubjectClass) error {
	limits.MaxRecords = 1
	if _, err := telemetry.Check(payload, limits); err != nil {
		return err
	}
	d.Reset(payload)
	if err := d.Next(r); err != nil {
		return err
	}
	if !class.Carries(r.Kind) {
		return &telemetry.RecordError{
			Kind: r.Kind, Reason: telemetry.ReasonWrongKind,
			Err: fmt.Errorf("kind %v on a %v subject", r.Kind, class),
		}
	}
	return nil
}

// A workReader decodes batches. A fresh one costs more than most batches take to read,
// so they are used again.
type workReader struct {
	decoder telemetry.Decoder
	record  telemetry.Record
}

var workReaders = sync.Pool{New: func() any { return new(workReader) }}

// decode reads the batch. Each batch has memory of its own, because it leaves
// this goroutine.
func (w *WorkConsumer) decode(b *batch, m jetstream.Msg) (*telemetry.Work, int64, error) {
	reader := workReaders.Get().(*workReader)
	defer workReaders.Put(reader)
	r := &reader.record
	if err := decodeOne(&reader.decoder, r, m.Data(), w.cfg.Limits, telemetry.SubjectWork); err != nil {
		return nil, 0, err
	}
	if _, reason, err := nameQueue(b.queue, r.Header.Queue); err != nil {
		return nil, 0, &telemetry.RecordError{Kind: telemetry.KindWork, Field: "queue", Reason: reason, Err: err}
	}
	work := r.Work
	r.Work = telemetry.Work{} // its slots leave with the batch
	return &work, r.SentNs, nil
}

// checkMessageID refuses a message id that does not name its queue. The stream compares the
// ids of all queues, and what has an id of the last two minutes is not stored: with ids of
// their own, two queues would keep each other's batches out without a word.
func checkMessageID(m jetstream.Msg, b *batch) error {
	id := m.Headers().Get(jetstream.MsgIDHeader)
	if id == "" || strings.HasPrefix(id, b.worker+"."+b.queue+".") {
		return nil
	}
	return &telemetry.RecordError{
		Kind: telemetry.KindWork, Field: jetstream.MsgIDHeader, Reason: telemetry.ReasonInconsistent,
		Err: errors.New("want <worker>.<queue>. in front of it, as ids of all queues are compared, or no such header"),
	}
}

// snapshot answers a request with the last recommendation for its queue.
func (in *Ingest) snapshot(m *nats.Msg) {
	if !in.conn.MayAnswer(m) {
		return
	}
	_, worker, queue, err := in.conn.cfg.Subjects.Parse(m.Subject)
	if err != nil {
		in.conn.refuse(m.Reply, telemetry.SubjectSnapshot, fmt.Errorf("%w: %w", ErrRequest, err))
		return
	}
	if part := in.cfg.part(worker); part == PartElsewhere || part == PartFollows {
		return // the other answers
	}
	in.snapshots.Add(1)
	r, ok := in.sink.Latest(worker, queue)
	if !ok {
		in.conn.refuse(m.Reply, telemetry.SubjectSnapshot, ErrNoRecommendation)
		return
	}
	// A reply subject carries one record, the first of its own sequence.
	h := in.conn.newHeader(1)
	_ = in.conn.publish(m.Reply, telemetry.Append(nil, in.conn.cfg.Encoding, h, &r))
}
