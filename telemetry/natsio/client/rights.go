package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry/natsio"
)

// noStream is a stream that must not exist.
const noStream = "_authcheck"

// HasWorkStream reports whether a stream takes batches of a queue. It asks with a message that
// no stream stores, and so takes no right but to submit.
func HasWorkStream(ctx context.Context, conn *natsio.Conn, worker, queue string) bool {
	m := nats.NewMsg(conn.Subjects().Work(worker, queue))
	m.Header.Set(jetstream.ExpectedStreamHeader, noStream)
	_, err := conn.JetStream().PublishMsg(ctx, m, ownRetries)
	var answer *jetstream.APIError
	return errors.As(err, &answer)
}

// AnybodyTakes reports whether somebody listens for word of a queue's batches, as workers do, as far as the server knows.
// It answers false at once and waits for nobody: the server says that nobody listens before it answers Flush.
func AnybodyTakes(ctx context.Context, conn *natsio.Conn, taker, queue string) (bool, error) {
	inbox := conn.NATS().NewInbox()
	answers, err := conn.NATS().SubscribeSync(inbox)
	if err != nil {
		return false, err
	}
	defer answers.Unsubscribe() // fails only with the connection
	err = conn.PublishRequest(conn.Subjects().Queued(taker, queue), inbox, nil)
	if err == nil {
		err = conn.Flush(ctx)
	}
	if err != nil {
		return false, err
	}
	waiting, _, err := answers.Pending()
	return waiting == 0, err
}

// TryPublish publishes on each subject a message that does nothing, and returns why the server
// refuses to, by subject, where it does. The message is no record, and no stream stores it.
// The API of JetStream carries no request out that needs an API of later servers; and since
// the message begins as JSON and does not end so, a server that does not look at that refuses
// it too. (Text that is no JSON would not do: a request to purge a stream is then carried
// out.) The error wraps that of Flush: the server's answers are then not known.
func TryPublish(ctx context.Context, conn *natsio.Conn, subjects []string) (refused map[string]error, err error) {
	for _, subject := range subjects {
		m := nats.NewMsg(subject)
		m.Data = []byte(`{"a right is tried`)
		m.Header.Set(jetstream.ExpectedStreamHeader, noStream)
		m.Header.Set("Nats-Required-Api-Level", "1000000")
		if err := conn.NATS().PublishMsg(m); err != nil {
			return nil, fmt.Errorf("publish %s: %w", subject, err)
		}
	}
	if err := conn.Flush(ctx); err != nil {
		return nil, err
	}
	return conn.Denied(), nil
}

// TrySubscribe subscribes to each subject for a moment; see TryPublish. Refusals are kept by
// subject alone, so a connection tries one of the two.
func TrySubscribe(ctx context.Context, conn *natsio.Conn, subjects []string) (refused map[string]error, err error) {
	for _, subject := range subjects {
		sub, err := conn.NATS().SubscribeSync(subject)
		if err != nil {
			return nil, fmt.Errorf("subscribe %s: %w", subject, err)
		}
		defer sub.Unsubscribe() // fails only with the connection, which unsubscribes too
	}
	if err := conn.Flush(ctx); err != nil {
		return nil, err
	}
	return conn.Denied(), nil
}
