package natsio

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// dedupWindow is how long the stream remembers batch ids.
	dedupWindow = 2 * time.Minute
	// maxWorkBytes is the largest message that the stream takes.
	maxWorkBytes = 1 << 20
	// maxWorkStore bounds the stored batches. Above it publishers are refused; nothing that was
	// accepted is dropped.
	maxWorkStore = 1 << 30
	// apiTimeout bounds one request to the JetStream API.
	apiTimeout = 3 * time.Second
)

// storeName derives the name of a stream or bucket from the subject prefix, since such
// names hold no dots. Version 1 is not part of the name, so that the default prefix gives
// RINGMASTER_ and what it holds.
func storeName(prefix, holds string) string {
	name := strings.TrimSuffix(prefix, ".v1")
	return strings.ToUpper(strings.ReplaceAll(name, ".", "_")) + "_" + holds
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
		Duplicates:  dedupWindow,
		DenyDelete:  true,
	}
}

// EnsureWorkStream creates the stream of batches unless it exists. While there
// is no connection or no JetStream it tries again until ctx ends, whose error
// then comes with the last one seen. It wraps ErrStreamConflict, and gives up
// at once, if a stream of this name serves another purpose.
func (c *Conn) EnsureWorkStream(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := c.ensureWorkStream(ctx)
		if err == nil || errors.Is(err, ErrStreamConflict) {
			return err
		}
		if !c.Pause(ctx, attempt) {
			return fmt.Errorf("%w (%w)", err, ctx.Err())
		}
	}
}

func (c *Conn) ensureWorkStream(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	return c.ensureStream(ctx, c.workStream())
}

// ensureStream creates a stream unless it exists. The error wraps
// ErrStreamConflict if a stream of this name serves another purpose.
func (c *Conn) ensureStream(ctx context.Context, want jetstream.StreamConfig) error {
	_, err := c.js.CreateStream(ctx, want)
	if err == nil {
		return nil
	}
	if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return fmt.Errorf("create stream %s: %w", want.Name, err)
	}
	stream, err := c.js.Stream(ctx, want.Name)
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", want.Name, err)
	}
	have := stream.CachedInfo().Config
	if have.Retention != want.Retention || len(have.Subjects) != 1 || have.Subjects[0] != want.Subjects[0] {
		return fmt.Errorf("%w: %s is a %v stream over %v, want a %v stream over %v",
			ErrStreamConflict, want.Name, have.Retention, have.Subjects, want.Retention, want.Subjects)
	}
	if have.RePublish != nil && want.RePublish == nil {
		// As an earlier version made it: the stream looked up the last batch of a queue for each new one.
		have.RePublish = nil
		if _, err := c.js.UpdateStream(ctx, have); err != nil {
			c.cfg.Logger.Info("nats: the stream of batches goes on to publish what it stores, which takes time and has no reader", "stream", want.Name, "error", err)
		}
	}
	return nil
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
