package natsio

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// intake turns the messages of one subscription into calls of the sink. Its
// decoder and record are used again for every message, so the steady state
// allocates nothing here.
type intake struct {
	in      *Ingest
	meter   *meter
	follows bool // the message at hand is of a worker that another process decides for
	decoder telemetry.Decoder
	record  telemetry.Record
}

func newIntake(in *Ingest, limit RateLimit) *intake {
	return &intake{in: in, meter: newMeter(limit)}
}

// take handles a message of the subscription.
func (k *intake) take(m *nats.Msg) {
	k.in.messages.Add(1)
	if k.shadows() {
		m.Reply = "" // whoever reports there asks somebody else
	}
	class, worker, queue, err := k.in.conn.cfg.heard().Parse(m.Subject)
	if err != nil {
		k.refuse(m, "", "", telemetry.ReasonOf(err), err)
		return
	}
	k.follows = false
	if class == telemetry.SubjectTelemetry && !k.concerns(m, worker, queue) {
		return
	}
	now := time.Now()
	sender := k.meter.admit(worker, queue, now)
	if sender == nil {
		k.in.limited.Add(1)
		k.refuse(m, worker, queue, ReasonRateLimited, errRateLimited)
		return
	}
	records, err := telemetry.Check(m.Data, telemetry.DefaultTelemetryLimits)
	if err != nil {
		k.refuse(m, worker, queue, telemetry.ReasonOf(err), err)
		return
	}
	k.meter.charge(sender, records, now)
	k.deliverAll(m, class, worker, queue, now)
}

// concerns says whether this process takes telemetry of a worker, by its part in the decisions.
func (k *intake) concerns(m *nats.Msg, worker, queue string) bool {
	switch k.in.cfg.part(worker) {
	case PartElsewhere:
		k.in.elsewhere.Add(1)
		return false
	case PartNone:
		k.refuse(m, worker, queue, ReasonNoDecider, errNoDecider)
		return false
	case PartFollows:
		k.in.followed.Add(1)
		k.follows, m.Reply = true, "" // who decides answers, and says what it refuses
	}
	return true
}

// deliverAll hands the records of a payload to the sink one after the other.
func (k *intake) deliverAll(m *nats.Msg, class telemetry.SubjectClass, worker, queue string, now time.Time) {
	answering := -1 // index of the record that takes the reply subject along
	if m.Reply != "" && class == telemetry.SubjectTelemetry {
		if k.in.conn.answerable(m.Reply) {
			answering = k.lastTrigger(m.Data)
		} else {
			k.refuse(m, worker, queue, ReasonBadReply, errBadReply)
		}
	}
	k.decoder.Reset(m.Data)
	for i := 0; ; i++ {
		err := k.decoder.Next(&k.record)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			k.refuse(m, worker, queue, telemetry.ReasonOf(err), err)
			continue
		}
		reply := ""
		if i == answering {
			reply = m.Reply
		}
		k.deliver(m, class, worker, queue, now, reply)
	}
}

var (
	errNoDecider = errors.New("nobody decides for this worker; start `ringmaster run --decide-only`, which decides for every worker without a runtime of its own")
	errBadReply  = errors.New("the reply subject is not an inbox that this runtime answers (--reply-prefix); the record was taken, nothing is sent there")
	errNoQueue   = errors.New("no queue named in a record on a _batch subject")
	errQueueName = errors.New("the record's queue is a reserved name")
	errOtherName = errors.New("the record names another queue than its subject")
)

// shadows says whether what comes is meant for others.
func (k *intake) shadows() bool { return k.in.conn.cfg.Shadowed.Prefix != "" }

// deliver hands the decoded record to the sink, or refuses it.
func (k *intake) deliver(m *nats.Msg, class telemetry.SubjectClass, worker, queue string, at time.Time, reply string) {
	if !class.Carries(k.record.Kind) {
		k.refuse(m, worker, queue, telemetry.ReasonWrongKind,
			fmt.Errorf("kind %v on a %v subject", k.record.Kind, class))
		return
	}
	var err error
	if class == telemetry.SubjectWorker {
		err = k.in.sink.Announce(worker, &k.record)
	} else {
		named, reason, mismatch := nameQueue(queue, k.record.Header.Queue)
		if mismatch != nil {
			k.refuse(m, worker, queue, reason, mismatch)
			return
		}
		queue = named
		if k.shadows() && k.record.Kind == telemetry.KindLaunch {
			k.record.Launch.Decision = 0 // the number is somebody else's
		}
		k.trace(m, worker, queue, at)
		err = k.in.sink.Ingest(worker, queue, &k.record, at, reply)
	}
	if err != nil {
		k.refuse(m, worker, queue, telemetry.ReasonOf(err), err)
		return
	}
	k.in.records.Add(1)
}

// trace has the record at hand followed, if its message is traced, before a decision can answer it.
func (k *intake) trace(m *nats.Msg, worker, queue string, at time.Time) {
	traces := k.in.conn.cfg.Traces
	switch {
	case traces == nil || k.follows:
	case k.record.Kind == telemetry.KindLaunch:
		traces.Launched(worker, queue, &k.record.Launch)
	case m.Header != nil:
		traces.Heard(worker, queue, &k.record.Header, traceparentOf(m.Header), at)
	}
}

// nameQueue returns the queue a record is for, given its subject's queue token
// and the name in its header, which is empty or a valid token.
func nameQueue(subject, header string) (queue, reason string, err error) {
	switch {
	case header == telemetry.BatchQueue:
		return "", telemetry.ReasonBadToken, errQueueName
	case subject == telemetry.BatchQueue && header == "":
		return "", telemetry.ReasonMissingField, errNoQueue
	case subject == telemetry.BatchQueue:
		return header, "", nil
	case header != "" && header != subject:
		return "", telemetry.ReasonInconsistent, errOtherName
	}
	return subject, "", nil
}

// lastTrigger returns the index of the last valid record of the payload that
// makes the policy decide: the answer to a request of several records takes
// all of them into account. It is -1 if there is none.
func (k *intake) lastTrigger(payload []byte) int {
	last := -1
	k.decoder.Reset(payload)
	for i := 0; ; i++ {
		err := k.decoder.Next(&k.record)
		if errors.Is(err, io.EOF) {
			return last
		}
		if err == nil && (k.record.Kind == telemetry.KindQueue || k.record.Kind == telemetry.KindGraph) {
			last = i
		}
	}
}

func (k *intake) refuse(m *nats.Msg, worker, queue, reason string, err error) {
	if k.follows {
		return
	}
	k.in.refuse(m, worker, queue, reason, err)
}

// refuse may be called by several goroutines.
func (in *Ingest) refuse(m *nats.Msg, worker, queue, reason string, err error) {
	in.refused.Add(1)
	reply := ""
	if in.conn.answerable(m.Reply) {
		reply = m.Reply
	}
	in.conn.reject.report(refusal{
		worker: worker, queue: queue, subject: m.Subject, reply: reply,
		reason: reason, cause: err, size: len(m.Data),
	})
}
