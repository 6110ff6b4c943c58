package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

const (
	maxRuntimes   = 256     // answers to one survey
	maxStatus     = 1 << 18 // bytes of one
	surveyPending = 1 << 23 // bytes of answers that wait to be read
)

// Runtime is what a process that decides answers to a survey.
type Runtime struct {
	ID, Version    string
	Worker, Device string // its own, if it has a device
	Started        time.Time
	Status         []byte // JSON, as <prefix>.status answers it
}

// SurveySubject is where Survey asks.
const SurveySubject = "$SRV.STATS." + natsio.ServiceName

// Survey asks all runtimes under the connection's prefix for their status, and tells of each answer as it comes, until ctx
// ends, which is no error. What is not an answer of a runtime is passed over. The error wraps natsio.ErrNotPermitted.
func Survey(ctx context.Context, conn *natsio.Conn, tell func(Runtime)) error {
	refused, cancel := conn.Needs(ctx, SurveySubject)
	defer cancel()
	inbox := conn.NATS().NewInbox()
	sub, err := conn.NATS().SubscribeSync(inbox)
	if err != nil {
		return fmt.Errorf("survey of runtimes: %w", err)
	}
	defer sub.Unsubscribe() // fails only with the connection
	if err := errors.Join(sub.SetPendingLimits(maxRuntimes, surveyPending), conn.NATS().PublishRequest(SurveySubject, inbox, nil)); err != nil {
		return fmt.Errorf("survey of runtimes: %w", err)
	}
	for range maxRuntimes {
		m, err := sub.NextMsgWithContext(refused)
		switch {
		case ctx.Err() != nil || errors.Is(err, nats.ErrNoResponders):
			return nil
		case err != nil:
			if cause := context.Cause(refused); cause != nil {
				err = cause
			}
			return fmt.Errorf("survey of runtimes: %w", err)
		}
		if r, ok := runtimeOf(conn.Subjects(), m.Data); ok {
			tell(r)
		}
	}
	return nil
}

// runtimeOf reads an answer; false if it is not that of a runtime under the prefix.
func runtimeOf(subjects telemetry.Subjects, answer []byte) (Runtime, bool) {
	var s micro.Stats
	if len(answer) > maxStatus || json.Unmarshal(answer, &s) != nil || s.Name != natsio.ServiceName || s.ID == "" {
		return Runtime{}, false
	}
	for _, e := range s.Endpoints {
		if e != nil && e.Subject == subjects.Root()+".status" && len(e.Data) > 0 {
			return Runtime{ID: s.ID, Version: s.Version, Worker: s.Metadata["worker"], Device: s.Metadata["device"], Started: s.Started, Status: e.Data}, true
		}
	}
	return Runtime{}, false
}

// QueueCount is a queue and how many messages of it a stream has.
type QueueCount struct {
	Worker, Queue string
	Messages      uint64
}

// StoredBatches returns how many batches of each queue the stream of work has: they wait, or run. The error wraps
// natsio.ErrNotPermitted, and jetstream.ErrStreamNotFound where there is no such stream.
func StoredBatches(ctx context.Context, conn *natsio.Conn) ([]QueueCount, error) {
	return countByQueue(ctx, conn, conn.WorkStream(), conn.Subjects().Root()+".work.>")
}

// DecidedQueues returns the queues of which the stream of decisions has decisions, and how many; see StoredBatches.
func DecidedQueues(ctx context.Context, conn *natsio.Conn) ([]QueueCount, error) {
	return countByQueue(ctx, conn, conn.Subjects().Store()+"_DECIDED", conn.Subjects().Root()+".decided.>")
}

// StreamSubject is the subject by which a stream is asked what it has.
func StreamSubject(stream string) string { return jetstream.DefaultAPIPrefix + "STREAM.INFO." + stream }

func countByQueue(ctx context.Context, conn *natsio.Conn, name, filter string) ([]QueueCount, error) {
	ctx, cancel := conn.Needs(ctx, StreamSubject(name))
	defer cancel()
	stream, err := conn.JetStream().Stream(ctx, name)
	var info *jetstream.StreamInfo
	if err == nil {
		info, err = stream.Info(ctx, jetstream.WithSubjectFilter(filter))
	}
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, natsio.ErrNotPermitted) {
			err = cause
		}
		return nil, fmt.Errorf("stream %s: %w", name, err)
	}
	counts := make([]QueueCount, 0, len(info.State.Subjects))
	for subject, n := range info.State.Subjects {
		if _, worker, queue, err := conn.Subjects().Parse(subject); err == nil && queue != "" {
			counts = append(counts, QueueCount{worker, queue, n})
		}
	}
	return counts, nil
}
