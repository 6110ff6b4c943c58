package natsio

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// snapshot answers a request with the last recommendation for its queue.
func (in *Ingest) snapshot(m *nats.Msg) {
	if !in.conn.answerable(m.Reply) {
		return // nobody waits, or nobody who may be answered
	}
	_, worker, queue, err := in.conn.cfg.Subjects.Parse(m.Subject)
	if err != nil {
		in.conn.refuse(m.Reply, telemetry.SubjectSnapshot, fmt.Errorf("%w: %w", ErrRequest, err))
		return
	}
	if in.cfg.Deciders.Who(worker) == DecidesAnother {
		return // who answers
	}
	in.snapshots.Add(1)
	r, ok := in.sink.Latest(worker, queue)
	if !ok {
		in.conn.refuse(m.Reply, telemetry.SubjectSnapshot, ErrNoRecommendation)
		return
	}
	// A reply subject carries one record, the first of its own sequence.
	h := in.conn.newHeader(1)
	_ = in.conn.publish(m.Reply, telemetry.AppendRecommendation(nil, in.conn.cfg.Form, &h, &r))
}
