package decisions

import (
	"context"
	"errors"
	"fmt"
	"io"

	"ringmaster/telemetry/decisionlog"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/decided"
)

// FromStream is what the stream of decisions holds, those of all processes in their order.
func FromStream(ctx context.Context, conn *natsio.Conn) *Source {
	name := "stream " + decided.StreamName(conn.Subjects())
	return newSource(name, logPart{name, func() (logReader, error) { return openStream(ctx, conn) }})
}

// badMessage says that a message of the stream is no decision that can be replayed.
type badMessage struct {
	sequence uint64
	err      error
}

func (e *badMessage) Error() string { return fmt.Sprintf("message %d: %v", e.sequence, e.err) }
func (e *badMessage) Unwrap() error { return e.err }

// streamReader reads decisions from the stream, which a goroutine hands it.
type streamReader struct {
	policies map[string][]byte
	headers  map[string]*decisionlog.Header // by the configuration's name
	messages chan decided.Message
	header   *decisionlog.Header // of the last decision
	stop     context.CancelFunc
	ended    chan struct{}
	err      error // why reading ended, valid after ended
}

func openStream(ctx context.Context, conn *natsio.Conn) (*streamReader, error) {
	policies, err := decided.Policies(ctx, conn)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	r := &streamReader{
		policies: policies, headers: make(map[string]*decisionlog.Header), messages: make(chan decided.Message, 64),
		stop: stop, ended: make(chan struct{}),
	}
	go func() {
		defer close(r.ended)
		r.err = decided.Read(ctx, conn, func(m decided.Message) error {
			select {
			case r.messages <- m:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	return r, nil
}

// Next reads the next decision, and returns io.EOF after the last.
func (r *streamReader) Next(e *decisionlog.Entry) error {
	select {
	case m := <-r.messages:
		return r.parse(&m, e)
	case <-r.ended:
	}
	select {
	case m := <-r.messages: // that were handed over before the end
		return r.parse(&m, e)
	default:
	}
	if r.err != nil {
		return r.err
	}
	return io.EOF
}

func (r *streamReader) parse(m *decided.Message, e *decisionlog.Entry) error {
	bad := func(err error) error { return &badMessage{m.Sequence, err} }
	if m.Err != nil {
		return bad(m.Err)
	}
	d, err := decisionlog.DecodeDecided(m.Stored.Recommendation.Decided)
	if err != nil {
		return bad(err)
	}
	if d.Entry.Worker != m.Worker || d.Entry.Queue != m.Queue || d.Entry.Decision != m.Stored.Recommendation.Decision {
		return bad(errors.New("its entry is that of another decision"))
	}
	if r.header, err = r.headerOf(d); err != nil {
		return bad(err)
	}
	*e = d.Entry
	return nil
}

// headerOf returns the header that a decision was made under. It names no process, since the numbers of a queue
// go on from one to another.
func (r *streamReader) headerOf(d *decisionlog.Decided) (*decisionlog.Header, error) {
	h := r.headers[d.Config]
	if h == nil {
		text, known := r.policies[d.Config]
		if !known {
			return nil, fmt.Errorf("the policy configuration %s is not in the stream", d.Config)
		}
		config, err := decisionlog.ParseConfig(d.Config, text)
		if err != nil {
			return nil, err
		}
		h = &decisionlog.Header{Format: decisionlog.Format, Config: *config}
		r.headers[d.Config] = h
	}
	if h.Software != d.Software {
		own := *h
		own.Software = d.Software
		return &own, nil
	}
	return h, nil
}

// Header is that of the last decision.
func (r *streamReader) Header() *decisionlog.Header { return r.header }

// Unknown is nothing: what a newer version wrote is a message that cannot be read.
func (r *streamReader) Unknown() []string { return nil }

// Close ends reading.
func (r *streamReader) Close() error {
	r.stop()
	<-r.ended
	return nil
}
