package natsio

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
)

const (
	// dedupWindow is how long the stream remembers batch ids.
	dedupWindow = 2 * time.Minute
	// maxWorkBytes is the largest message that the stream takes.
	maxWorkBytes = 1 << 20
	// maxWorkStore bounds the stored batches. Above it publishers are refused; nothing that was
	// accepted is dropped but by its age.
	maxWorkStore = 1 << 30
	// MaxQueueBatches is how many batches of a queue the stream holds, those that a worker has
	// in hand among them. So many of the largest take half of the stream, which leaves the rest to
	// others, and it is twice what a worker takes of a queue at a time.
	MaxQueueBatches = maxWorkStore / maxWorkBytes / 2
	// maxWorkAge is how long a batch waits for a worker that does not come: over a weekend.
	// What nobody wants any more would take the room of others for ever.
	maxWorkAge = 72 * time.Hour
	// apiTimeout bounds one request to the JetStream API, and how long a stream has to answer what is published to it.
	apiTimeout = 3 * time.Second
)

// storeName is the name of the stream or bucket of what it holds under a prefix.
func storeName(prefix, holds string) string {
	return telemetry.Subjects{Prefix: prefix}.Store() + "_" + holds
}

// WorkStream returns the name of the stream of batches.
func (c *Conn) WorkStream() string { return storeName(c.prefix(), "WORK") }

// workStream is the configuration of the stream. What it leaves out is off:
// message headers can neither replace, schedule, expire nor count anything.
func (c *Conn) workStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        c.WorkStream(),
		Description: "batches of slots, removed when their done record is out",
		Subjects:    []string{c.prefix() + ".work.>"},
		Retention:   jetstream.WorkQueuePolicy,
		Discard:     jetstream.DiscardNew, // refuse the publisher rather than lose what was accepted
		MaxBytes:    maxWorkStore,
		MaxMsgSize:  maxWorkBytes,
		MaxAge:      maxWorkAge,
		Duplicates:  dedupWindow,
		DenyDelete:  true,

		MaxMsgsPerSubject:    MaxQueueBatches,
		DiscardNewPerSubject: true,
	}
}

// EnsureWorkStream creates the stream of batches unless it exists; one that exists stays as
// it is, since how it should be is its worker's business. While there
// is no connection or no JetStream it tries again until ctx ends, whose error
// then comes with the last one seen. It wraps ErrStreamConflict, and gives up
// at once, if a stream of this name serves another purpose.
func (c *Conn) EnsureWorkStream(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := c.lookedUpWorkStream(ctx)
		if err == nil || errors.Is(err, ErrStreamConflict) {
			return err
		}
		if !c.Pause(ctx, attempt) {
			return fmt.Errorf("%w (%w)", err, ctx.Err())
		}
	}
}

func (c *Conn) lookedUpWorkStream(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	want := c.workStream()
	_, err := c.makeStream(ctx, want)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		_, err = c.findStream(ctx, &want, nil)
	}
	return err
}

// ensureWorkStream creates the stream of batches, or gives one that exists its replicas.
func (c *Conn) ensureWorkStream(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	return c.OpenStream(ctx, c.workStream(), nil)
}

// Pause waits before another attempt, the longer the more there were, and reports whether
// ctx allowed it. Attempts count from 1.
func (c *Conn) Pause(ctx context.Context, attempt int) bool {
	return pause(ctx, backoff(c.cfg.ReconnectMin, c.cfg.ReconnectMax, attempt))
}

// pause waits and reports whether ctx allowed it.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ownRetries leaves trying again to the callers of Outlet.Done, who know if it is worth it.
var ownRetries = jetstream.WithRetryAttempts(0)

// usualReplicas is how many servers of a cluster keep a stream, so that one of them may fail.
const usualReplicas = 3

// Codes of the JetStream API that the library has no name for.
const (
	errNoPeers      jetstream.ErrorCode = 10005 // too few servers fit
	errNotClustered jetstream.ErrorCode = 10074 // more than one replica on a server alone
)

// place makes something stored with as many replicas as are wanted, and returns how many that
// are. Where nothing was configured, that is one on servers that cannot have more.
func (c *Conn) place(name string, create func(replicas int) error) (replicas int, err error) {
	if c.cfg.Replicas != 0 {
		if err = create(c.cfg.Replicas); tooFewServers(err) {
			err = fmt.Errorf("%s: %d replicas are wanted, and the server refuses: %w; set --replicas lower, or add servers", name, c.cfg.Replicas, err)
		}
		return c.cfg.Replicas, err
	}
	if err = create(usualReplicas); !tooFewServers(err) {
		return usualReplicas, err
	}
	if hasCode(err, errNoPeers) { // a cluster, which has two servers or misses one
		c.complaints.Warn("a stream is made with one replica, as too few servers take it; it has more when this process starts beside three", "", "",
			"stream", name, "error", err)
	}
	return 1, create(1)
}

func tooFewServers(err error) bool {
	return hasCode(err, errNotClustered) || hasCode(err, errNoPeers) && !tooLittleSpace(err)
}

func hasCode(err error, code jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == code
}

// makeStream creates a stream and returns its configuration: smaller than wanted, down to a part in
// leastPart, where the server or the account has less space. The error wraps
// ErrStreamNameAlreadyInUse if there is one that differs, and ErrNoSpace.
func (c *Conn) makeStream(ctx context.Context, want jetstream.StreamConfig) (jetstream.StreamConfig, error) {
	usual := want.MaxBytes
	for {
		var err error
		want.Replicas, err = c.place(want.Name, func(replicas int) error {
			want.Replicas = replicas
			_, err := c.js.CreateStream(ctx, want)
			return err
		})
		switch {
		case err == nil && want.MaxBytes < usual:
			c.complaints.Warn("a stream is made smaller, as the server or the account has no more space for streams", "", "",
				"stream", want.Name, "bytes", want.MaxBytes, "usual", usual)
			return want, nil
		case err == nil:
			return want, nil
		case !tooLittleSpace(err):
			return want, fmt.Errorf("create stream %s: %w", want.Name, err)
		}
		if _, lookup := c.js.Stream(ctx, want.Name); lookup == nil { // there, with other bounds
			return want, fmt.Errorf("create stream %s: %w", want.Name, jetstream.ErrStreamNameAlreadyInUse)
		}
		if want.MaxBytes/2 < usual/leastPart {
			return want, fmt.Errorf("%w: %s takes %d bytes, at least %d, and they are not there: %w; raise max_file_store of the server, or the account's limit",
				ErrNoSpace, want.Name, usual, usual/leastPart, err)
		}
		want.MaxBytes /= 2
		want.MaxMsgsPerSubject /= 2
	}
}

// leastPart of the bytes of a stream is the least that it is made with.
const leastPart = 64

// tooLittleSpace reports whether a stream was refused because of its bytes.
func tooLittleSpace(err error) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case 10023, 10047, 10122: // of the cluster, of the server or account, of one stream of the account
		return true
	case errNoPeers:
		return strings.Contains(api.Description, "insufficient storage")
	}
	return false
}

// OpenStream creates a stream with as many replicas as are configured. One of that name that is there
// keeps the bounds that its operator gave it, unless fit, which may be nil, gives it others. Where the server
// refuses those it is complained of, and the stream serves as it is. The error wraps ErrStreamConflict of a
// stream that serves another purpose, is fit's, or may wrap ErrNoSpace.
func (c *Conn) OpenStream(ctx context.Context, want jetstream.StreamConfig, fit func(stream *jetstream.StreamConfig) error) error {
	want, err := c.makeStream(ctx, want)
	if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return err
	}
	have, err := c.findStream(ctx, &want, fit)
	if err != nil {
		return err
	}
	c.replicate(ctx, have, want.Replicas)
	return nil
}

// findStream looks a stream up that is there, and has fit change it.
func (c *Conn) findStream(ctx context.Context, want *jetstream.StreamConfig, fit func(stream *jetstream.StreamConfig) error) (*jetstream.StreamConfig, error) {
	stream, err := c.js.Stream(ctx, want.Name)
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", want.Name, err)
	}
	if fit == nil {
		fit = func(have *jetstream.StreamConfig) error { return samePurpose(have, want) }
	}
	have := stream.CachedInfo().Config
	next := have
	if err := fit(&next); err != nil {
		return nil, err
	}
	if has, wanted := boundWords(&have), boundWords(&next); has != wanted {
		c.update(ctx, &have, &next, has, wanted)
	}
	return &have, nil
}

// samePurpose refuses a stream over other subjects, or one that keeps messages by another rule.
func samePurpose(have, want *jetstream.StreamConfig) error {
	if have.Retention != want.Retention || !slices.Equal(have.Subjects, want.Subjects) {
		return fmt.Errorf("%w: %s is a %v stream over %v, want a %v stream over %v",
			ErrStreamConflict, want.Name, have.Retention, have.Subjects, want.Retention, want.Subjects)
	}
	return nil
}

func boundWords(c *jetstream.StreamConfig) string {
	return fmt.Sprintf("at most %d bytes, %d messages of a subject, for %v", c.MaxBytes, c.MaxMsgsPerSubject, c.MaxAge)
}

// replicate gives a stream as many replicas as were configured, or else at least so many as
// are usual: what an operator has set by hand is not taken back unasked.
func (c *Conn) replicate(ctx context.Context, have *jetstream.StreamConfig, wanted int) {
	if have.Replicas == wanted || c.cfg.Replicas == 0 && have.Replicas > wanted {
		return
	}
	next := *have
	next.Replicas = wanted
	c.update(ctx, have, &next, replicaWords(have.Replicas), replicaWords(wanted))
}

func replicaWords(n int) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}

// update changes a stream, and have with it. A server that refuses is complained of: the stream
// serves as it is.
func (c *Conn) update(ctx context.Context, have, next *jetstream.StreamConfig, has, wanted string) {
	_, err := c.js.UpdateStream(ctx, *next)
	switch {
	case c.cfg.Replicas == 0 && hasCode(err, errNotClustered): // it was refused for its bytes before anybody counted servers
		return
	case err != nil:
		c.complaints.Warn("a stream stays as it is, since the server refuses to change it", "", "",
			"stream", have.Name, "has", has, "wanted", wanted, "error", err)
		return
	}
	c.cfg.Logger.Info("a stream was changed", "stream", have.Name, "had", has, "has", wanted)
	*have = *next
}

// OpenBucket opens a key-value bucket on disk, or makes it as it is wanted, with the replicas of this connection.
func (c *Conn) OpenBucket(ctx context.Context, want jetstream.KeyValueConfig) (bucket jetstream.KeyValue, err error) {
	want.Storage = jetstream.FileStorage
	replicas, err := c.place(want.Bucket, func(replicas int) (err error) {
		want.Replicas = replicas
		bucket, err = c.js.CreateKeyValue(ctx, want)
		return err
	})
	if errors.Is(err, jetstream.ErrBucketExists) {
		if bucket, err = c.js.KeyValue(ctx, want.Bucket); err == nil {
			c.replicateBucket(ctx, "KV_"+want.Bucket, replicas)
		}
	}
	return bucket, err
}

// replicateBucket is replicate for the stream behind a bucket that exists.
func (c *Conn) replicateBucket(ctx context.Context, stream string, wanted int) {
	s, err := c.js.Stream(ctx, stream)
	if err != nil {
		return // whoever uses the bucket finds that out
	}
	have := s.CachedInfo().Config
	c.replicate(ctx, &have, wanted)
}

// ReadPending hands the messages that a consumer had pending when it was made to visit, in their order, and returns
// after the last one, or with visit's error. What the bounds of the stream remove meanwhile is not waited for, and
// a server that is lost is noticed within two seconds.
func ReadPending(ctx context.Context, consumer jetstream.Consumer, visit func(m jetstream.Msg, meta *jetstream.MsgMetadata) error) error {
	failed := func(err error) error {
		return fmt.Errorf("read stream %s: %w", consumer.CachedInfo().Stream, err)
	}
	left := consumer.CachedInfo().NumPending
	if left == 0 {
		return nil
	}
	messages, err := consumer.Messages(jetstream.PullExpiry(10*time.Second), jetstream.PullHeartbeat(time.Second))
	if err != nil {
		return failed(err)
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return failed(err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return failed(err)
		}
		if err := visit(m, meta); err != nil {
			return err
		}
		if left--; left == 0 || meta.NumPending == 0 {
			return nil
		}
	}
}

// StreamUse is how full a stream is.
type StreamUse struct {
	Name     string
	Messages uint64
	Bytes    uint64
	MaxBytes uint64 // 0: no bound of its own
	Refuses  bool   // what finds no room is refused, instead of taking that of the oldest
}

// StreamUse asks the server how full a stream is.
func (c *Conn) StreamUse(ctx context.Context, name string) (StreamUse, error) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	stream, err := c.js.Stream(ctx, name)
	if err != nil {
		return StreamUse{}, fmt.Errorf("look up stream %s: %w", name, err)
	}
	info := stream.CachedInfo()
	return StreamUse{Name: name, Messages: info.State.Msgs, Bytes: info.State.Bytes, MaxBytes: uint64(max(info.Config.MaxBytes, 0)), Refuses: info.Config.Discard == jetstream.DiscardNew}, nil
}
