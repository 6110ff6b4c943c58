package natsio

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Bounds of the bucket of results.
const (
	// MaxResultBytes bounds one result.
	MaxResultBytes = 32 << 10
	resultHeaders  = 1 << 10          // of its message, which the bucket counts too
	maxResultStore = 64 << 20         // bytes of the whole bucket
	maxResultQueue = 256              // results that wait to be stored
	resultAttempts = 8                // writes of one result while others write it too
	resultPause    = 30 * time.Second // longest pause between two attempts to reach the bucket
	resultLook     = 30 * time.Second // between two looks whether the bucket is still the same
)

// Results is the bucket in which workers share what their tuners learned, a
// JetStream key-value bucket, RINGMASTER_TUNER with the default prefix. A key is
// a device's token, a dot, and the result's own. What a value means is the
// callers' business.
//
// Nothing here waits for the server: a goroutine stores what is shared and
// others follow what is found. Without JetStream it says so, at most once a minute,
// and tries again from time to time.
type Results struct {
	conn   *Conn
	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	wake   chan struct{}
	look   time.Duration // see resultLook

	mu      sync.Mutex
	bucket  jetstream.KeyValue                    // nil: not reached yet
	waiting map[string]func(stored []byte) []byte // to be stored, by key
	order   []string                              // of what waits; what could not be stored is last
}

// NewResults begins to share. Close ends it.
func (c *Conn) NewResults() *Results {
	r := &Results{conn: c, log: c.cfg.Logger, wake: make(chan struct{}, 1), look: resultLook, waiting: make(map[string]func([]byte) []byte)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.work.Go(r.store)
	return r
}

// ResultBucket is the name of the bucket.
func (c *Conn) ResultBucket() string { return storeName(c.prefix(), "TUNER") }

// Close ends all of it; what is not stored yet is not.
func (r *Results) Close() {
	r.cancel()
	r.work.Wait()
}

// Share has a result stored. merge is called with what the bucket has, nil for
// nothing, and says what to store in its place, nil for nothing; it is called
// again when another worker was faster, so no write is lost. It runs on a
// goroutine of its own. Of two results of one key the newer replaces the one
// that waits. The error is ErrBadName or ErrBacklog.
func (r *Results) Share(device, key string, merge func(stored []byte) []byte) error {
	if !validResultKey(device) || !validResultKey(key) {
		return fmt.Errorf("%w: result %q of device %q", ErrBadName, key, device)
	}
	name := device + "." + key
	r.mu.Lock()
	if r.waiting[name] == nil && len(r.waiting) == maxResultQueue {
		r.mu.Unlock()
		return fmt.Errorf("%w: %d results wait", ErrBacklog, maxResultQueue)
	}
	r.wait(name, merge)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return nil
}

// Follow hands over every result of a device, first those that are there, then
// each that is stored, this connection's own among them. found runs on a
// goroutine of its own and may keep the value. Values beyond MaxResultBytes are
// left out. The error is ErrBadName.
func (r *Results) Follow(device string, found func(key string, value []byte)) error {
	if !validResultKey(device) {
		return fmt.Errorf("%w: device %q", ErrBadName, device)
	}
	r.work.Go(func() {
		for attempt := 1; r.ctx.Err() == nil; attempt++ {
			if bucket := r.reach(); bucket != nil && r.watch(bucket, device, found) {
				attempt = 0
			}
			pause(r.ctx, backoff(r.conn.cfg.ReconnectMin, resultPause, attempt))
		}
	})
	return nil
}

// watch follows a device until the watch ends, and says whether there was one. A
// bucket that was removed and made again counts from 1, and the client goes on where
// the old one was: it would wait for ever. So the bucket's age is looked at now and then.
func (r *Results) watch(bucket jetstream.KeyValue, device string, found func(key string, value []byte)) bool {
	made, err := r.made(bucket)
	if err != nil {
		r.lost()
		return false
	}
	w, err := bucket.Watch(r.ctx, device+".*", jetstream.IgnoreDeletes())
	if err != nil {
		r.lost()
		return false
	}
	defer w.Stop()
	look := time.NewTicker(r.look)
	defer look.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return true
		case <-look.C:
			if now, err := r.made(bucket); errors.Is(err, jetstream.ErrStreamNotFound) || err == nil && !now.Equal(made) {
				r.lost()
				return true
			}
		case e, ok := <-w.Updates():
			if !ok {
				return true
			}
			if e == nil || len(e.Value()) > MaxResultBytes {
				continue // nil: all that was there has come
			}
			found(strings.TrimPrefix(e.Key(), device+"."), e.Value())
		}
	}
}

// made is when the bucket was made.
func (r *Results) made(bucket jetstream.KeyValue) (time.Time, error) {
	ctx, cancel := context.WithTimeout(r.ctx, apiTimeout)
	defer cancel()
	status, err := bucket.Status(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("look at the bucket of results: %w", err)
	}
	s, ok := status.(*jetstream.KeyValueBucketStatus)
	if !ok {
		return time.Time{}, nil // of another client: it does not say
	}
	return s.StreamInfo().Created, nil
}

// store writes what waits, one result after the other.
func (r *Results) store() {
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-r.wake:
		}
		for attempt := 1; ; {
			name, merge, ok := r.next()
			if !ok {
				break
			}
			bucket := r.reach()
			var err error
			if bucket != nil {
				if err = r.write(bucket, name, merge); err == nil {
					attempt = 1
					continue
				}
				var refused *jetstream.APIError
				if errors.As(err, &refused) {
					r.conn.complaints.Warn("tuner results are not shared with other workers: the server does not store them; tried again from time to time. "+
						"If the bucket is full, remove it: it is made again", "", "", "bucket", r.conn.ResultBucket(), "error", err)
				}
				r.log.Debug("a tuner's result is not shared yet", "key", name, "error", err)
			}
			r.again(name, merge)
			if !pause(r.ctx, backoff(r.conn.cfg.ReconnectMin, resultPause, attempt)) {
				return
			}
			attempt++
		}
	}
}

func (r *Results) next() (name string, merge func([]byte) []byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.order) == 0 {
		return "", nil, false
	}
	name, r.order = r.order[0], r.order[1:]
	merge = r.waiting[name]
	delete(r.waiting, name)
	return name, merge, true
}

// wait has a result stored after those that wait. Called with mu held.
func (r *Results) wait(name string, merge func([]byte) []byte) {
	if r.waiting[name] == nil {
		r.order = append(r.order, name)
	}
	r.waiting[name] = merge
}

// again puts a result back that could not be stored, unless a newer one waits.
func (r *Results) again(name string, merge func([]byte) []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting[name] == nil {
		r.wait(name, merge)
	}
}

// write replaces a value if nobody else has meanwhile, else it merges again.
func (r *Results) write(bucket jetstream.KeyValue, name string, merge func([]byte) []byte) error {
	ctx, cancel := context.WithTimeout(r.ctx, apiTimeout)
	defer cancel()
	var err error
	for range resultAttempts {
		var stored []byte
		var revision uint64
		e, lookup := bucket.Get(ctx, name)
		switch {
		case lookup == nil:
			stored, revision = e.Value(), e.Revision()
			if len(stored) > MaxResultBytes {
				stored = nil // nobody's result
			}
		case !errors.Is(lookup, jetstream.ErrKeyNotFound):
			r.lost()
			return fmt.Errorf("look up result: %w", lookup)
		}
		value := merge(stored)
		switch {
		case value == nil:
			return nil
		case len(value) > MaxResultBytes:
			r.log.Warn("a tuner's result is too large to be shared", "bytes", len(value), "most", MaxResultBytes)
			return nil
		case revision == 0:
			_, err = bucket.Create(ctx, name, value)
		default:
			_, err = bucket.Update(ctx, name, value, revision)
		}
		if err == nil || !errors.Is(err, jetstream.ErrKeyExists) && !wrongRevision(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("store result: %w", err)
	}
	return nil
}

// wrongRevision says that somebody else has written a key meanwhile.
func wrongRevision(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// reach opens the bucket, or makes it. It is nil while that fails, which is
// said of a server that is there.
func (r *Results) reach() jetstream.KeyValue {
	r.mu.Lock()
	bucket := r.bucket
	r.mu.Unlock()
	if bucket != nil {
		return bucket
	}
	if !r.conn.nc.IsConnected() {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.ctx, apiTimeout)
	defer cancel()
	name := r.conn.ResultBucket()
	bucket, err := r.conn.OpenBucket(ctx, jetstream.KeyValueConfig{
		Bucket: name, Description: "what tuners learned, by device and key",
		MaxValueSize: MaxResultBytes + resultHeaders, MaxBytes: maxResultStore, History: 1,
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.bucket = bucket
		return bucket
	}
	if r.ctx.Err() == nil && r.conn.nc.IsConnected() {
		r.conn.complaints.Warn("tuner results are not shared with other workers; tuning goes on without", "", "", "bucket", name, "error", err)
	}
	return nil
}

// lost has the bucket looked up again.
func (r *Results) lost() {
	r.mu.Lock()
	r.bucket = nil
	r.mu.Unlock()
}

func validResultKey(s string) bool {
	return s != "" && len(s) <= 128 && strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyz-_") == ""
}

// TryStore stores something in the bucket and removes it: how much its disk and its own limit have left, a server tells
// nobody. It returns nil where there is no bucket yet, and where this user may not write to it.
func (c *Conn) TryStore(ctx context.Context) error {
	ctx, cancel := c.Permitted(ctx)
	defer cancel()
	bucket, err := c.js.KeyValue(ctx, c.ResultBucket())
	if err == nil {
		const key = "doctor" // no result: it has no device
		if _, err = bucket.Put(ctx, key, make([]byte, MaxResultBytes)); err == nil {
			err = bucket.Purge(ctx, key)
		}
	}
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(context.Cause(ctx), ErrNotPermitted) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the server does not store what is written to it: %w; its disk or its max_file_store may be full: its log says why, and `nats server report jetstream` how much it has", err)
	}
	return nil
}
