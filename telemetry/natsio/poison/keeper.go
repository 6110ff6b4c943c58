package poison

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

const (
	perQueue = 64
	maxBytes = 256 << 20
	maxAge   = 30 * 24 * time.Hour
	// patience bounds one request about the stream.
	patience = 3 * time.Second
	// besides is the room of a message for what is not the batch.
	besides = 1 << 10
)

// Headers of a message.
const (
	headerBatch      = "Ringmaster-Batch"
	headerSlots      = "Ringmaster-Slots"
	headerDeliveries = "Ringmaster-Deliveries"
	headerBytes      = "Ringmaster-Bytes" // of a batch that did not fit into a message
)

// StreamName returns the name of the stream.
func StreamName(s telemetry.Subjects) string { return s.Store() + "_POISON" }

func streamConfig(s telemetry.Subjects) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        StreamName(s),
		Description: "batches that were delivered too often without an outcome",
		Subjects:    []string{s.Root() + ".poison.>"},
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardOld,
		MaxBytes:    maxBytes,
		MaxAge:      maxAge,

		MaxMsgsPerSubject: perQueue,
	}
}

// Keeper puts batches into the stream, which it makes on first use.
type Keeper struct {
	conn *natsio.Conn

	mu    sync.Mutex
	ready bool // the stream exists
}

// NewKeeper returns a keeper on a connection. It does not touch the network.
func NewKeeper(conn *natsio.Conn) *Keeper { return &Keeper{conn: conn} }

// SetAside keeps a batch, and returns at once. kept is called exactly once, from another goroutine,
// when the stream has the batch or with why it does not. It is the SetAside of natsio.WorkConfig.
func (k *Keeper) SetAside(b *natsio.GivenUp, kept func(error)) {
	go func() { kept(k.store(b)) }()
}

func (k *Keeper) store(b *natsio.GivenUp) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := k.open(ctx); err != nil {
		return err
	}
	m := nats.NewMsg(k.conn.Subjects().Poison(b.Worker, b.Queue))
	m.Header.Set(headerBatch, b.Batch)
	m.Header.Set(headerSlots, strconv.Itoa(b.Slots))
	m.Header.Set(headerDeliveries, strconv.FormatUint(b.Deliveries, 10))
	// A process that ends between this and the acknowledgement sets the batch aside again.
	m.Header.Set(jetstream.MsgIDHeader, fmt.Sprintf("%s.%s.%d", b.Worker, b.Queue, b.Sequence))
	if len(b.Data)+besides <= int(k.conn.NATS().MaxPayload()) {
		m.Data = b.Data
	} else {
		m.Header.Set(headerBytes, strconv.Itoa(len(b.Data)))
	}
	if _, err := k.conn.JetStream().PublishMsg(ctx, m, jetstream.WithExpectStream(StreamName(k.conn.Subjects())), jetstream.WithRetryAttempts(0)); err != nil {
		k.mu.Lock()
		k.ready = false // it may have been removed
		k.mu.Unlock()
		return fmt.Errorf("store in %s: %w", StreamName(k.conn.Subjects()), err)
	}
	return nil
}

func (k *Keeper) open(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ready {
		return nil
	}
	err := k.conn.OpenStream(ctx, streamConfig(k.conn.Subjects()), nil)
	k.ready = err == nil
	return err
}
