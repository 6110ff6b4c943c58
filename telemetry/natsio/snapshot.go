package natsio

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"ringmaster/telemetry"
)

// Codes of an answer without a recommendation, in the header that NATS
// services use for it.
const (
	codeNotFound   = "404"
	codeBadSubject = "400"
)

// snapshot answers a request with the last recommendation for its queue.
func (in *Ingest) snapshot(m *nats.Msg) {
	if !in.conn.answerable(m.Reply) {
		return // nobody waits, or nobody who may be answered
	}
	_, worker, queue, err := in.conn.cfg.Subjects.Parse(m.Subject)
	if err != nil {
		in.conn.answerError(m.Reply, codeBadSubject, err.Error())
		return
	}
	if in.cfg.Deciders.Who(worker) == DecidesAnother {
		return // who answers
	}
	in.snapshots.Add(1)
	r, ok := in.sink.Latest(worker, queue)
	if !ok {
		in.conn.answerError(m.Reply, codeNotFound, "no recommendation for this queue yet")
		return
	}
	// A reply subject carries one record, the first of its own sequence.
	h := in.conn.newHeader(1)
	_ = in.conn.publish(m.Reply, telemetry.AppendRecommendation(nil, in.conn.cfg.Form, &h, &r))
}

func (c *Conn) answerError(reply, code, description string) {
	m := nats.NewMsg(reply)
	m.Header.Set(micro.ErrorCodeHeader, code)
	m.Header.Set(micro.ErrorHeader, description)
	_ = c.nc.PublishMsg(m) // the requester times out, as if the request had been lost
}

// Snapshot asks the runtime for the last recommendation for a queue. The error
// wraps ErrNoRuntime, ErrNoRecommendation or ctx's error.
func (c *Conn) Snapshot(ctx context.Context, worker, queue string) (telemetry.Header, telemetry.Recommendation, error) {
	if err := checkNames(worker, queue); err != nil {
		return telemetry.Header{}, telemetry.Recommendation{}, err
	}
	return c.request(ctx, c.cfg.Subjects.Snapshot(worker, queue), nil)
}

// Ask publishes telemetry records, as PublishTelemetry does, and waits for the
// recommendation that takes them into account.
func (c *Conn) Ask(ctx context.Context, worker, queue string, payload []byte) (telemetry.Header, telemetry.Recommendation, error) {
	if err := checkNames(worker, queue); err != nil {
		return telemetry.Header{}, telemetry.Recommendation{}, err
	}
	return c.request(ctx, c.cfg.Subjects.Telemetry(worker, queue), payload)
}

func (c *Conn) request(ctx context.Context, subject string, payload []byte) (telemetry.Header, telemetry.Recommendation, error) {
	fail := func(err error) (telemetry.Header, telemetry.Recommendation, error) {
		return telemetry.Header{}, telemetry.Recommendation{}, fmt.Errorf("natsio: request %s: %w", subject, err)
	}
	answer, err := c.nc.RequestWithContext(ctx, subject, payload)
	if errors.Is(err, nats.ErrNoResponders) {
		return fail(ErrNoRuntime)
	}
	if err != nil {
		return fail(err)
	}
	switch code := answer.Header.Get(micro.ErrorCodeHeader); code {
	case "":
	case codeNotFound:
		return fail(ErrNoRecommendation)
	default:
		return fail(fmt.Errorf("code %s: %s", code, answer.Header.Get(micro.ErrorHeader)))
	}
	var d telemetry.Decoder
	var r telemetry.Record
	if err := decodeOne(&d, &r, answer.Data, telemetry.DefaultTelemetryLimits, telemetry.SubjectSnapshot); err != nil {
		return fail(err)
	}
	return r.Header, r.Recommendation, nil
}
