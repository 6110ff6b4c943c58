package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/client"
)

// count asks the ring itself how many tokens it counted: a batch with one
// load of the counter word, whose result comes back in its done record.
func (d *Demo) count(ctx context.Context) (uint64, error) {
	const batch = "verify-count"
	result := make(chan uint32, 1)
	_, err := d.subscriber.SubscribeDone(Worker, playerQueues[decode], func(_, _ string, _ *telemetry.Header, done *telemetry.Done) {
		if done.Batch != batch {
			return
		}
		if len(done.Results) == 1 {
			result <- done.Results[0]
		} else {
			close(result)
		}
	})
	if err != nil {
		return 0, err
	}
	work := telemetry.Work{
		Has:   telemetry.HasBatch | telemetry.HasSlots | telemetry.HasWantResults,
		Batch: batch, WantResults: true,
		Slots: []telemetry.Slot{{Opcode: uint32(kernel.OpLoad), Priority: ring.PriorityCritical, Args: [12]uint32{counterWord}, NArgs: 1}},
	}
	h := telemetry.Header{Incarnation: d.publisher.Incarnation(), Seq: d.player.batches + 1, SentNs: time.Now().UnixNano()}
	if _, err := client.PublishWork(ctx, d.publisher, Worker, playerQueues[decode], h, &work, d.publisher.Encoding()); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // a busy machine's backlog took six seconds
	defer cancel()
	select {
	case <-ctx.Done():
		return 0, fmt.Errorf("the ring's token counter did not come back: %w", ctx.Err())
	case count, ok := <-result:
		if !ok {
			return 0, errors.New("the ring's token counter came back without a value")
		}
		return uint64(count), nil
	}
}
