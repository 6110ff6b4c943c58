package natsio

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
)

// Share is how a worker takes batches of a pool, of which other workers take some too. A batch stays in
// the stream until a worker has little left to do, so that the one which runs dry first has it: there is nothing to agree
// about, and a worker that is slow, stopped or gone takes none. Of several that wait for batches, the server
// gives the next one to that which has least to do.
type Share struct {
	// Ahead is how long the worker's device is expected to take for all the work that it has in hand.
	Ahead func() time.Duration
	// Expect is how long it is expected to take for a batch of so many slots of a queue, 0 if that is not known. Of
	// such a queue one batch is taken at a time.
	Expect func(queue string, slots int) time.Duration
	// Most is how much a worker has ahead at most when it takes another batch. It covers the way to the
	// stream and back, a few milliseconds; what is beyond, another worker could have begun.
	Most time.Duration
}

// DefaultAhead is the usual Most: ten times the way of a batch from the stream to the device.
const DefaultAhead = 20 * time.Millisecond

const (
	// poolPending is how many batches of a pool's queue may be without an outcome at all its workers.
	poolPending = 1024
	// mostFetched is how many batches are asked for at a time.
	mostFetched = 64
	// fetchWait is how long a question waits for batches, and with it how long a drain may take.
	fetchWait = 500 * time.Millisecond
	// poolGroup is the priority group of a pool's consumers, and leastPriority the last of its priorities.
	poolGroup     = "workers"
	leastPriority = 9
)

// shared makes the configuration of a queue's consumer that of one which several workers use.
func shared(c *jetstream.ConsumerConfig) {
	c.MaxAckPending = poolPending
	c.PriorityPolicy, c.PriorityGroups = jetstream.PriorityPolicyPrioritized, []string{poolGroup}
}

// appetite is how many batches to ask for, and if none, when to think again. each is what one is expected to take, 0 if
// that is not known, and inHand how many of the queue are without an outcome.
func appetite(most, ahead, each time.Duration, inHand int) (n int, again time.Duration) {
	const soon, late = time.Millisecond, 100 * time.Millisecond
	room := most - ahead
	switch {
	case room <= 0:
		return 0, min(max(soon, most/2-room), late)
	case each == 0 && inHand > 0:
		return 0, soon
	case each == 0:
		return 1, 0
	}
	return int(min(max(room/each, 1), mostFetched)), 0
}

// priority of a worker that asks for batches with so much ahead: 0 comes first.
func priority(most, ahead time.Duration) uint8 {
	return uint8(min(max(ahead*leastPriority/most, 0), leastPriority))
}

// fetch passes batches of a pool's queue on as the worker gets to them, until that breaks or ctx ends, or
// without an error when the queue is idle.
func (w *WorkConsumer) fetch(ctx context.Context, f *queueFlow, consumer jetstream.Consumer, r *reading) (started bool, err error) {
	share := w.cfg.Share
	defer func() { <-r.turn }() // of the last batch
	for ctx.Err() == nil && !w.flowIdle(f, time.Now()) {
		ahead, inHand := w.inHand(f.queue)
		ahead = max(ahead, share.Ahead())
		n, again := appetite(share.Most, ahead, share.Expect(f.queue, int(f.slots.Load())), inHand)
		if n == 0 {
			pause(ctx, again)
			continue
		}
		batches, err := consumer.Fetch(n, jetstream.FetchMaxWait(fetchWait),
			jetstream.FetchPriorityGroup(poolGroup), jetstream.FetchPrioritized(priority(share.Most, ahead)))
		if err != nil {
			return started, fmt.Errorf("fetch: %w", err)
		}
		for m := range batches.Messages() { // all of them: those that come after ctx has ended are given back
			f.used.Store(time.Now().UnixNano())
			w.deliver(r, m)
		}
		if err := batches.Error(); err != nil && f.breaks(err) {
			return true, fmt.Errorf("fetch: %w", err)
		}
		started = true
	}
	return true, ctx.Err()
}

// inHand is what the batches without an outcome are expected to take, and how many of them are of a queue. The
// device may not know of all yet.
func (w *WorkConsumer) inHand(queue string) (expected time.Duration, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.pending {
		expected += b.expected
		if b.queue == queue {
			n++
		}
	}
	return expected, n
}

// expect notes what a batch of a pool is expected to take, and how large batches of its queue are.
func (w *WorkConsumer) expect(b *batch, work *telemetry.Work) {
	if w.cfg.Share == nil {
		return
	}
	slots := work.Count()
	expected := w.cfg.Share.Expect(b.queue, slots)
	w.mu.Lock()
	defer w.mu.Unlock()
	b.expected = expected
	if f := w.flows[b.queue]; f != nil {
		f.slots.Store(int64(slots))
	}
}

// errPoolData refuses a batch of a pool that needs data of a window: no worker is known to have it.
var errPoolData = &telemetry.RecordError{
	Kind: telemetry.KindWork, Field: "epoch", Reason: telemetry.ReasonInconsistent,
	Err: errors.New("a pool's batch runs on any of its workers, and the epoch is that of one worker's window: send work that needs data to the worker that has it"),
}

// InHand is a batch without an outcome.
type InHand struct {
	Taker      string // the worker, or the pool as telemetry.Pool has it
	Queue      string
	Sequence   uint64    // in the stream of batches
	Deliveries uint64    // times that the server has delivered it, to anybody
	Taken      time.Time // when it came to this process
	Held       bool      // it is handed over again later, as the handler was busy
}

// InHand are the batches without an outcome, in no order.
func (w *WorkConsumer) InHand() []InHand {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]InHand, 0, len(w.pending))
	for _, b := range w.pending {
		list = append(list, InHand{Taker: w.worker, Queue: b.queue, Sequence: b.sequence, Deliveries: b.delivered, Taken: b.taken, Held: b.held != nil && b.attempt > 0})
	}
	return list
}
