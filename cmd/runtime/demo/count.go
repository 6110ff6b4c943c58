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
	outcomes, err := client.FollowOutcomes(ctx, d.subscriber, Worker, playerQueues[decode], func(id string) bool { return id == batch })
	if err != nil {
		return 0, err
	}
	defer outcomes.Close()
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
	var results []uint32
	err = outcomes.Wait(ctx, []string{batch}, func(done *telemetry.Done) error { results = done.Results; return nil }, func(*telemetry.Rejected) {})
	switch {
	case err != nil:
		return 0, fmt.Errorf("the ring's token counter did not come back: %w", err)
	case len(results) != 1:
		return 0, errors.New("the ring's token counter came back without a value")
	}
	return uint64(results[0]), nil
}
