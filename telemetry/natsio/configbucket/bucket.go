package configbucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

const (
	// MaxBytes bounds a text.
	MaxBytes = 64 << 10
	// Kept is how many texts of a key there are, the newest among them: as many as a bucket can keep.
	Kept = 64
	// headers is the room of a message for what is not the text.
	headers = 1 << 10
	// patience bounds one request.
	patience = 3 * time.Second
	// operation is the header of a message that removes a text.
	operation = "KV-Operation"
	// again is how long after a look that finds another text the next one follows.
	again = 500 * time.Millisecond
)

var (
	// ErrNone is of a key that has no text, or not that one any more.
	ErrNone = errors.New("nothing is stored under this key, or not this revision; `ringmaster config put` stores settings")
	// ErrKey is of a key that cannot be one.
	ErrKey = errors.New("a key has 1 to 64 letters, digits, _ or -")
)

// Entry is a text of a key.
type Entry struct {
	Revision uint64 // counts the texts of all keys; later texts have higher ones
	Stored   time.Time
	Text     []byte
}

// Bucket is the bucket on a connection.
type Bucket struct {
	conn *natsio.Conn
	name string
}

// On returns the bucket beside the streams of a prefix. It does not touch the network.
func On(conn *natsio.Conn, s telemetry.Subjects) *Bucket {
	return &Bucket{conn: conn, name: s.Store() + "_CONFIG"}
}

// Name is that of the bucket.
func (b *Bucket) Name() string { return b.name }

// Put stores a text as the newest of a key, and makes the bucket if there is none.
func (b *Bucket) Put(ctx context.Context, key string, text []byte) (revision uint64, err error) {
	switch {
	case !telemetry.ValidToken(key):
		return 0, ErrKey
	case len(text) > MaxBytes:
		return 0, fmt.Errorf("%d bytes, want at most %d", len(text), MaxBytes)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	bucket, err := b.conn.JetStream().KeyValue(ctx, b.name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		bucket, err = b.conn.OpenBucket(ctx, jetstream.KeyValueConfig{
			Bucket: b.name, Description: "settings that processes share, by key",
			MaxValueSize: MaxBytes + headers, MaxBytes: 16 << 20, History: Kept,
		})
	}
	if err == nil {
		revision, err = bucket.Put(ctx, key, text)
	}
	if err != nil {
		return 0, fmt.Errorf("store in %s: %w", b.name, err)
	}
	return revision, nil
}

// Get returns the text of a revision of a key, 0 for the newest. The error is ErrNone if there is none.
func (b *Bucket) Get(ctx context.Context, key string, revision uint64) (Entry, error) {
	if !telemetry.ValidToken(key) {
		return Entry{}, ErrKey
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	bucket, err := b.conn.JetStream().KeyValue(ctx, b.name)
	var e jetstream.KeyValueEntry
	if err == nil && revision == 0 {
		e, err = bucket.Get(ctx, key)
	} else if err == nil {
		e, err = bucket.GetRevision(ctx, key, revision)
	}
	if err != nil {
		return Entry{}, b.failed(err)
	}
	return entryOf(e)
}

// History returns all texts of a key, the oldest first. The error is ErrNone if there are none.
func (b *Bucket) History(ctx context.Context, key string) (all []Entry, err error) {
	if !telemetry.ValidToken(key) {
		return nil, ErrKey
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := b.conn.JetStream().Stream(ctx, "KV_"+b.name)
	for next := uint64(1); err == nil; { // one after the other: reading by a consumer would take three more rights
		var m *jetstream.RawStreamMsg
		if m, err = stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject("$KV."+b.name+"."+key)); err != nil {
			break
		}
		next = m.Sequence + 1
		if m.Header.Get(operation) == "" && len(m.Data) <= MaxBytes {
			all = append(all, Entry{m.Sequence, m.Time, m.Data})
		}
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) && len(all) > 0 {
		return all, nil
	}
	return nil, b.failed(err)
}

// Follow looks at a key at once and then every so often until ctx ends, and offers a text, the first too, when two looks
// in a row have found it: a server that lags behind the others of its cluster may answer with an older one. What keeps
// it from looking is handed to failed.
func (b *Bucket) Follow(ctx context.Context, key string, every time.Duration, offer func(Entry), failed func(error)) {
	var seen, offered Entry
	for {
		pause := every
		now, err := b.Get(ctx, key, 0)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failed(err)
		case !now.same(seen):
			seen, pause = now, again
		case !now.same(offered):
			offered = now
			offer(now)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (e Entry) same(as Entry) bool {
	return e.Revision == as.Revision && e.Stored.Equal(as.Stored) && bytes.Equal(e.Text, as.Text)
}

// failed is an error of the bucket for whoever called.
func (b *Bucket) failed(err error) error {
	for _, none := range []error{jetstream.ErrBucketNotFound, jetstream.ErrStreamNotFound, jetstream.ErrKeyNotFound, jetstream.ErrMsgNotFound} {
		if errors.Is(err, none) {
			return ErrNone
		}
	}
	return fmt.Errorf("look in %s: %w", b.name, err)
}

// entryOf is what is stored; somebody else may have written it.
func entryOf(e jetstream.KeyValueEntry) (Entry, error) {
	if e.Operation() != jetstream.KeyValuePut {
		return Entry{}, ErrNone
	}
	if n := len(e.Value()); n > MaxBytes {
		return Entry{}, fmt.Errorf("revision %d has %d bytes, want at most %d", e.Revision(), n, MaxBytes)
	}
	return Entry{Revision: e.Revision(), Stored: e.Created(), Text: e.Value()}, nil
}
