package natsio

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// storedAtOnce is how many done records wait for the answers of the stream.
	storedAtOnce = 1024
	// doneStreamAge and doneStreamBytes bound the stream of done records.
	doneStreamAge   = 24 * time.Hour
	doneStreamBytes = 256 << 20
)

// DoneStream returns the name of the stream of done records that
// OutletConfig.DoneStream makes.
func (c *Conn) DoneStream() string { return strings.TrimSuffix(c.WorkStream(), "_WORK") + "_DONE" }

func (c *Conn) doneStream() jetstream.StreamConfig {
	storage := jetstream.FileStorage
	if c.cfg.WorkStream.Memory {
		storage = jetstream.MemoryStorage
	}
	return jetstream.StreamConfig{
		Name: c.DoneStream(), Description: "what became of batches",
		Subjects: []string{c.cfg.Subjects.Done("*", "*")}, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld,
		Storage: storage, Replicas: c.cfg.WorkStream.Replicas, MaxBytes: doneStreamBytes, MaxAge: doneStreamAge,
	}
}

// store publishes done records and returns nil if the stream has all of them. Until
// the stream exists every record fails, and its batch is not acknowledged.
func (p *Outlet) store(letters []letter) error {
	if !p.streamReady {
		ctx, cancel := context.WithTimeout(context.Background(), p.cfg.ConfirmTimeout)
		defer cancel()
		if err := p.conn.ensureStream(ctx, p.conn.doneStream()); err != nil {
			p.conn.cfg.Logger.Warn("nats: no work is acknowledged, as done records cannot be kept", "stream", p.conn.DoneStream(), "error", err)
			return err
		}
		p.streamReady = true
	}
	for part := range slices.Chunk(letters, storedAtOnce) {
		if err := p.storePart(part); err != nil {
			p.streamReady = false // somebody may have removed it
			return err
		}
	}
	return nil
}

func (p *Outlet) storePart(part []letter) error {
	if !p.conn.nc.IsConnected() {
		return ErrDisconnected
	}
	futures := make([]jetstream.PubAckFuture, 0, len(part))
	for i := range part {
		f, err := p.conn.js.PublishMsgAsync(&nats.Msg{Subject: part[i].subject, Data: part[i].payload}, ownRetries)
		if err != nil {
			return fmt.Errorf("store done record: %w", err)
		}
		futures = append(futures, f)
	}
	timeout := time.After(p.cfg.ConfirmTimeout)
	for _, f := range futures {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			return fmt.Errorf("%w: %w", ErrUnconfirmed, err)
		case <-timeout:
			return ErrUnconfirmed
		}
	}
	return nil
}
